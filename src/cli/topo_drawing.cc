#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/topo_views.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/text_table.h"
#include "topo/paths.h"

namespace autoccl::cli {
namespace {

using topo::Host;
using topo::PathClass;

constexpr double kBox = 92, kGap = 10, kRow = 58, kMargin = 16, kHeight = 40;

std::string num(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

std::string box(double x, double y, double width, double height, const char* fill,
                const std::string& hint) {
  return "<rect x=\"" + num(x) + "\" y=\"" + num(y) + "\" width=\"" + num(width) + "\" height=\"" +
         num(height) + "\" rx=\"6\" fill=\"" + fill + "\"><title>" + escaped(hint) +
         "</title></rect>";
}
std::string label(double x, double y, const std::string& text, const char* fill) {
  return "<text x=\"" + num(x) + "\" y=\"" + num(y) + "\" text-anchor=\"middle\" fill=\"" + fill +
         "\">" + escaped(text) + "</text>";
}
std::string line(double x1, double y1, double x2, double y2, const char* stroke) {
  return "<line x1=\"" + num(x1) + "\" y1=\"" + num(y1) + "\" x2=\"" + num(x2) + "\" y2=\"" +
         num(y2) + "\" stroke=\"" + stroke + "\" stroke-width=\"1.5\"/>";
}

std::string shortened(const std::string& name) {
  return name.size() <= 13 ? name : "…" + name.substr(name.size() - 12);
}

/// A device or a switch with its place; leaves lie side by side, a switch over the middle of its
/// leaves.
struct Spot {
  double x = 0, y = 0;
};

class Drawing {
 public:
  explicit Drawing(const Host& host) : host_(host), below_(host.pci.size()) {
    for (size_t i = 0; i < host.pci.size(); ++i)
      if (host.pci[i].parent >= 0) below_[static_cast<size_t>(host.pci[i].parent)].push_back(i);
  }

  std::string run() {
    double x = kMargin;
    for (size_t i = 0; i < host_.numa.size(); ++i) x = node(static_cast<int>(i), x);
    x = node(-1, x);
    nvlinks();
    const double width = std::max(x + kMargin, 320.0),
                 height = deepest_ + kHeight + kMargin + fabric_;
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + num(width) + " " +
           num(height) +
           "\" role=\"img\" font-family=\"system-ui,sans-serif\" font-size=\"12\"><title>" +
           escaped("topology: " + host_.format) + "</title>" + under_ + over_ + "</svg>\n";
  }

 private:
  /// One NUMA node (-1: none) from x = `from` on; returns where the next one begins.
  double node(int numa, double from) {
    double x = from;
    spread(numa, x, kMargin + kRow);
    if (numa < 0 && x == from) return from;
    x = std::max(x, from + kBox * 2);
    std::string name = "NUMA unknown";
    if (numa >= 0 && host_.numa[static_cast<size_t>(numa)].id >= 0)
      name = "NUMA " + std::to_string(host_.numa[static_cast<size_t>(numa)].id);
    over_ += box(from, kMargin, x - from - kGap, 26, ink::kFaint, name);
    over_ += label((from + x - kGap) / 2, kMargin + 17, name, ink::kText);
    return x + kGap;
  }

  void spread(int numa, double& x, double top) {
    for (size_t i = 0; i < host_.pci.size(); ++i)
      if (host_.pci[i].numa == numa && host_.pci[i].parent < 0) {
        const Spot spot = device(i, x, top);
        under_ += line(spot.x, spot.y, spot.x, kMargin + 26, ink::kDefault);
      }
    for (size_t i = 0; i < host_.gpus.size(); ++i)
      if (host_.gpus[i].pci < 0 && host_.gpus[i].numa == numa) leafGpu(i, x, top);
    for (size_t i = 0; i < host_.nics.size(); ++i)
      if (host_.nics[i].pci < 0 && host_.nics[i].numa == numa) leafNic(i, x, top);
  }

  Spot device(size_t index, double& x, double y) {
    deepest_ = std::max(deepest_, y);
    for (size_t g = 0; g < host_.gpus.size(); ++g)
      if (host_.gpus[g].pci == static_cast<int>(index)) return leafGpu(g, x, y);
    for (size_t n = 0; n < host_.nics.size(); ++n)
      if (host_.nics[n].pci == static_cast<int>(index)) return leafNic(n, x, y);
    if (below_[index].empty())
      return leaf(host_.pci[index].busId, linkText(host_.pci[index]), ink::kDefault, x, y);
    std::vector<Spot> children;
    children.reserve(below_[index].size());
    for (const size_t child : below_[index]) children.push_back(device(child, x, y + kRow));
    const double middle = (children.front().x + children.back().x) / 2;
    for (const Spot& child : children)
      under_ += line(child.x, child.y, middle, y + 24, ink::kDefault);
    const double width = std::max(kBox, children.back().x - children.front().x + 24);
    over_ += box(middle - width / 2, y, width, 24, ink::kDefault,
                 host_.pci[index].busId + " " + linkText(host_.pci[index]));
    over_ += label(middle, y + 16, "switch", "#fff");
    return {middle, y};
  }

  Spot leafGpu(size_t index, double& x, double y) {
    const Spot spot = leaf(nameOf(host_, host_.gpus[index]),
                           gpuText(host_, static_cast<int>(index)), ink::kTuned, x, y);
    gpuAt_[index] = spot;
    return spot;
  }
  Spot leafNic(size_t index, double& x, double y) {
    return leaf(nameOf(host_, host_.nics[index]), nicText(host_, static_cast<int>(index)),
                ink::kAccent, x, y);
  }
  Spot leaf(const std::string& name, const std::string& hint, const char* fill, double& x,
            double y) {
    deepest_ = std::max(deepest_, y);
    over_ += box(x, y, kBox, kHeight, fill, hint);
    over_ += label(x + kBox / 2, y + 24, shortened(name), "#fff");
    const Spot spot{x + kBox / 2, y};
    x += kBox + kGap;
    return spot;
  }

  /// Bundles between GPUs: one bar below all where every pair is joined, arcs else.
  void nvlinks() {
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0; i < host_.gpus.size(); ++i)
      for (size_t j = i + 1; j < host_.gpus.size(); ++j)
        if (gpuToGpu(host_, static_cast<int>(i), static_cast<int>(j)).path == PathClass::kNvlink)
          pairs.emplace_back(i, j);
    if (pairs.empty()) return;
    const size_t n = host_.gpus.size();
    const double y = deepest_ + kHeight + 34;
    fabric_ = 62;
    if (pairs.size() == n * (n - 1) / 2) return bar(y);
    for (const auto& [i, j] : pairs) {
      const Spot &a = gpuAt_[i], &b = gpuAt_[j];
      under_ += "<path d=\"M" + num(a.x) + " " + num(a.y + kHeight) + " Q" + num((a.x + b.x) / 2) +
                " " + num(y) + " " + num(b.x) + " " + num(b.y + kHeight) +
                "\" fill=\"none\" stroke=\"" + ink::kGood + "\" stroke-width=\"2\"/>";
    }
  }
  void bar(double y) {
    double low = gpuAt_.begin()->second.x, high = low;
    for (const auto& [index, spot] : gpuAt_) {
      low = std::min(low, spot.x);
      high = std::max(high, spot.x);
      under_ += line(spot.x, spot.y + kHeight, spot.x, y, ink::kGood);
    }
    over_ +=
        box(low - kBox / 2, y, high - low + kBox, 24, ink::kGood, "every GPU reaches every other");
    over_ += label((low + high) / 2, y + 16, "all GPUs joined", "#fff");
  }

  const Host& host_;
  std::vector<std::vector<size_t>> below_;
  std::map<size_t, Spot> gpuAt_;
  std::string under_, over_;
  double deepest_ = kMargin + kRow, fabric_ = 0;
};

page::Table devicesTable(const Host& host) {
  page::Table table{{"device", "bus id", "NUMA node", "link"}, {}, {}};
  const auto row = [&](const std::string& text, int pci, int numa) {
    const bool known = numa >= 0 && host.numa[static_cast<size_t>(numa)].id >= 0;
    table.rows.push_back(
        {text, pci >= 0 ? host.pci[static_cast<size_t>(pci)].busId : "unknown",
         known ? std::to_string(host.numa[static_cast<size_t>(numa)].id) : "unknown",
         pci >= 0 ? linkText(host.pci[static_cast<size_t>(pci)]) : "unknown"});
  };
  for (size_t i = 0; i < host.gpus.size(); ++i)
    row(gpuText(host, static_cast<int>(i)), host.gpus[i].pci, host.gpus[i].numa);
  for (size_t i = 0; i < host.nics.size(); ++i)
    row(nicText(host, static_cast<int>(i)), host.nics[i].pci, host.nics[i].numa);
  return table;
}

page::Table nearestTable(const Host& host) {
  page::Table table{{"GPU", "nearest NIC", "class", "GB/s"}, {false, false, false, true}, {}};
  for (size_t i = 0; i < host.gpus.size() && !host.nics.empty(); ++i) {
    const int nic = nicsByDistance(host, static_cast<int>(i)).front();
    const topo::Path path = gpuToNic(host, static_cast<int>(i), nic);
    table.rows.push_back({nameOf(host, host.gpus[i]),
                          nameOf(host, host.nics[static_cast<size_t>(nic)]), toText(path.path),
                          path.GBps > 0 ? figure(path.GBps) : "unknown"});
  }
  return table;
}

}  // namespace

std::string topoSvg(const Host& host) {
  return Drawing(host).run();
}

std::string topoPage(const Host& host, const std::string& source) {
  std::string body = "<header><h1>Topology</h1><p>" + escaped(source + ", " + host.format) +
                     "</p></header>\n" +
                     page::cards({{"NUMA nodes", std::to_string(host.numa.size()), "", ""},
                                  {"GPUs", std::to_string(host.gpus.size()), "", ""},
                                  {"NICs", std::to_string(host.nics.size()), "", ""}});
  body += page::section("tree", "Tree", "Hold the pointer over a part to see its link.",
                        "<div class=\"scroll\">" + topoSvg(host) + "</div>");
  body += page::section("devices", "Devices", "", page::table(devicesTable(host)));
  body += page::section("nearest", "Nearest NICs", "", page::table(nearestTable(host)));
  if (!host.notes.empty())
    body += page::section("notes", "Notes", "", page::list(host.notes, "warn"));
  return page::document("Topology of " + source, body);
}

}  // namespace autoccl::cli
