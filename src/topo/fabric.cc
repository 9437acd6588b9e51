#include "topo/fabric.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>

#include "topo/toml_fields.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr int kMostHosts = 65536, kMostDevices = 64, kMostSwitches = 4096;
constexpr double kNicAlphaUs = 5;  // where nothing is measured
constexpr std::string_view kSchema = "autoccl-fabric/1";

/// "0-3,8" below `end`; a list of any length, unlike a CPU set.
std::optional<std::vector<int>> ranges(std::string_view text, int end) {
  std::vector<int> all;
  for (const std::string_view part : split(trimmed(text), ',')) {
    const size_t dash = part.find('-');
    const auto first = wholeNumber(trimmed(part.substr(0, dash)));
    const auto last = dash == part.npos ? first : wholeNumber(trimmed(part.substr(dash + 1)));
    if (!first || !last || *first < 0 || *last < *first || *last >= end) return std::nullopt;
    for (int64_t i = *first; i <= *last; ++i) all.push_back(static_cast<int>(i));
    if (all.size() > kMostHosts) return std::nullopt;
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all.empty() ? std::nullopt : std::optional(all);
}

std::string rangesText(const std::vector<int>& all) {
  std::string out;
  for (size_t i = 0; i < all.size();) {
    size_t last = i;
    while (last + 1 < all.size() && all[last + 1] == all[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(all[i]);
    if (last > i) out += "-" + std::to_string(all[last]);
    i = last + 1;
  }
  return out;
}

void nameHosts(Fabric& fabric) {
  for (int i = static_cast<int>(fabric.hostNames.size()); i < fabric.hosts; ++i)
    fabric.hostNames.push_back("node" + std::to_string(i));
}

void oneLeafARail(Fabric& fabric) {
  std::vector<int> all(static_cast<size_t>(fabric.hosts));
  std::iota(all.begin(), all.end(), 0);
  for (int rail = 0; rail < fabric.nicsPerHost; ++rail)
    fabric.leaves.push_back({"leaf" + std::to_string(rail), all, {rail}, 0});
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_(file), root_(parseToml(text, file)) {}

  Fabric run() {
    TomlFields top(root_, "the file", file_);
    if (const std::string schema = top.text("schema"); schema != kSchema)
      top.fail("schema", "is '" + schema + "'; this reads " + std::string(kSchema));
    if (top.has("name")) fabric_.name = top.text("name");
    hosts(top.table("hosts"));
    links(top.table("links"));
    if (top.has("spines")) fabric_.spines = top.whole("spines", 0, kMostSwitches);
    for (const TomlValue* table : top.tables("leaf")) leaf(*table);
    top.done();
    if (fabric_.nicsPerHost > 0 && fabric_.nic.GBps <= 0)
      refuse(file_, root_.find("links")->line, "[links]: nic is missing, and hosts have NICs");
    if (fabric_.leaves.empty()) {
      oneLeafARail(fabric_);
      lines_.resize(fabric_.leaves.size());
    }
    everyNicOnce();
    return std::move(fabric_);
  }

 private:
  void hosts(const TomlValue& table) {
    TomlFields f(table, "[hosts]", file_);
    fabric_.hosts = f.whole("count", 1, kMostHosts);
    fabric_.gpusPerHost = f.whole("gpus", 1, kMostDevices);
    fabric_.nicsPerHost = f.whole("nics", 0, kMostDevices);
    if (f.has("platform")) fabric_.platform = f.text("platform");
    if (f.has("topology")) fabric_.hostFile = f.text("topology");
    if (f.has("names")) fabric_.hostNames = f.texts("names");
    f.done();
    if (!fabric_.hostNames.empty() &&
        fabric_.hostNames.size() != static_cast<size_t>(fabric_.hosts))
      f.fail("names", "has " + std::to_string(fabric_.hostNames.size()) + " of " +
                          std::to_string(fabric_.hosts) + " names");
    nameHosts(fabric_);
  }

  void links(const TomlValue& table) {
    TomlFields f(table, "[links]", file_);
    link(f, "gpu", fabric_.gpu);
    link(f, "pci", fabric_.pci);
    link(f, "socket", fabric_.socket);
    link(f, "nic", fabric_.nic);
    link(f, "spine", fabric_.spine);
    f.done();
  }
  void link(TomlFields& links, std::string_view name, LinkClass& into) {
    if (!links.has(name)) return;
    TomlFields f(links.table(name), "[links." + std::string(name) + "]", file_);
    into.alphaUs = f.number("alpha_us", 0, 1e6);
    into.GBps = f.number("GBps", 1e-6, 1e6);
    if (f.has("shared_by")) into.sharedBy = f.whole("shared_by", 1, kMostDevices);
    f.done();
  }

  void leaf(const TomlValue& table) {
    TomlFields f(table, "[[leaf]]", file_);
    Leaf made;
    made.name = f.has("name") ? f.text("name") : "leaf" + std::to_string(fabric_.leaves.size());
    const auto hosts = ranges(f.text("hosts"), fabric_.hosts);
    if (!hosts)
      f.fail("hosts",
             "is no list such as \"0-15\" of hosts below " + std::to_string(fabric_.hosts));
    const auto rails = ranges(f.text("rails"), fabric_.nicsPerHost);
    if (!rails)
      f.fail("rails",
             "is no list such as \"0,4\" of NICs below " + std::to_string(fabric_.nicsPerHost));
    made.hosts = *hosts;
    made.rails = *rails;
    if (f.has("uplinks")) made.uplinks = f.whole("uplinks", 0, kMostSwitches);
    if (f.has("oversubscription")) {
      if (made.uplinks > 0) f.fail("oversubscription", "and uplinks say the same: give one");
      if (fabric_.spine.GBps <= 0) f.fail("oversubscription", "needs [links.spine]");
      const double over = f.number("oversubscription", 0.01, 1000);
      const double down =
          static_cast<double>(made.hosts.size() * made.rails.size()) * fabric_.nic.GBps;
      made.uplinks = std::max(1, static_cast<int>(down / over / fabric_.spine.GBps + 0.5));
    }
    if (made.uplinks > 0 && fabric_.spine.GBps <= 0) f.fail("uplinks", "needs [links.spine]");
    f.done();
    lines_.push_back(table.line);
    fabric_.leaves.push_back(std::move(made));
  }

  void everyNicOnce() {
    const auto width = static_cast<size_t>(fabric_.nicsPerHost);
    std::vector<int> leafAt(static_cast<size_t>(fabric_.hosts) * width, -1);
    for (size_t i = 0; i < fabric_.leaves.size(); ++i)
      for (const int host : fabric_.leaves[i].hosts)
        for (const int rail : fabric_.leaves[i].rails) {
          int& at = leafAt[static_cast<size_t>(host) * width + static_cast<size_t>(rail)];
          if (at >= 0)
            refuse(file_, lines_[i],
                   "NIC " + std::to_string(rail) + " of host " + std::to_string(host) + " is on " +
                       fabric_.leaves[static_cast<size_t>(at)].name + " already");
          at = static_cast<int>(i);
        }
    const auto bare = std::ranges::find(leafAt, -1);
    if (bare == leafAt.end()) return;
    const auto which = static_cast<size_t>(bare - leafAt.begin());
    refuse(file_, 0,
           "NIC " + std::to_string(which % width) + " of host " + std::to_string(which / width) +
               " is on no leaf");
  }

  const std::string& file_;
  TomlValue root_;
  Fabric fabric_;
  std::vector<int> lines_;  // of each leaf
};

std::string numberText(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  constexpr std::string_view kLetters = "bfnrt\"\\", kValues = "\b\f\n\r\t\"\\";
  for (const char c : text) {
    const size_t which = kValues.find(c);
    if (which != kValues.npos) out += '\\';
    out += which != kValues.npos ? kLetters[which] : c;
  }
  return out + "\"";
}

void writeLink(const char* name, const LinkClass& link, std::string& out) {
  if (link.GBps <= 0) return;
  out += std::string("[links.") + name + "]\nalpha_us = " + numberText(link.alphaUs) +
         "\nGBps = " + numberText(link.GBps) + "\n";
  if (link.sharedBy != 1) out += "shared_by = " + std::to_string(link.sharedBy) + "\n";
  out += "\n";
}

}  // namespace

int Fabric::leafOf(int host, int rail) const {
  for (size_t i = 0; i < leaves.size(); ++i)
    if (std::ranges::binary_search(leaves[i].hosts, host) &&
        std::ranges::binary_search(leaves[i].rails, rail))
      return static_cast<int>(i);
  return -1;
}

double Fabric::oversubscription(const Leaf& leaf) const {
  if (leaf.uplinks <= 0) return 0;
  const double down = static_cast<double>(leaf.hosts.size() * leaf.rails.size()) * nic.GBps;
  return down / (leaf.uplinks * spine.GBps);
}

Fabric readFabric(std::string_view text, const std::string& file) {
  return Reader(text, file).run();
}

Fabric railFabric(int hosts, int gpusPerHost, int nicsPerHost, double nicGbps) {
  Fabric fabric;
  fabric.hosts = hosts;
  fabric.gpusPerHost = gpusPerHost;
  fabric.nicsPerHost = nicsPerHost;
  fabric.nic = {kNicAlphaUs, nicGbps / 8, 1};
  nameHosts(fabric);
  oneLeafARail(fabric);
  return fabric;
}

std::string writeFabric(const Fabric& f) {
  std::string out = "schema = " + quoted(std::string(kSchema)) + "\n";
  if (!f.name.empty()) out += "name = " + quoted(f.name) + "\n";
  if (f.spines > 0) out += "spines = " + std::to_string(f.spines) + "\n";
  out += "\n[hosts]\ncount = " + std::to_string(f.hosts) +
         "\ngpus = " + std::to_string(f.gpusPerHost) + "\nnics = " + std::to_string(f.nicsPerHost) +
         "\n";
  if (!f.platform.empty()) out += "platform = " + quoted(f.platform) + "\n";
  if (!f.hostFile.empty()) out += "topology = " + quoted(f.hostFile) + "\n";
  out += "names = [";
  for (size_t i = 0; i < f.hostNames.size(); ++i) out += (i ? ", " : "") + quoted(f.hostNames[i]);
  out += "]\n\n[links]\n";
  writeLink("gpu", f.gpu, out);
  writeLink("pci", f.pci, out);
  writeLink("socket", f.socket, out);
  writeLink("nic", f.nic, out);
  writeLink("spine", f.spine, out);
  for (const Leaf& leaf : f.leaves) {
    out += "[[leaf]]\nname = " + quoted(leaf.name) + "\nhosts = " + quoted(rangesText(leaf.hosts)) +
           "\nrails = " + quoted(rangesText(leaf.rails)) + "\n";
    if (leaf.uplinks > 0) out += "uplinks = " + std::to_string(leaf.uplinks) + "\n";
    out += "\n";
  }
  return out;
}

}  // namespace autoccl::topo
