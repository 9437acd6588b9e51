#include "topo/summary.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "topo/paths.h"

namespace autoccl::topo {
namespace {

std::string kindOfGpu(const Gpu& g) {
  if (!g.model.empty()) return g.model;
  if (!g.gcn.empty()) return g.gcn;
  return g.computeCapability > 0 ? "GPU of sm " + std::to_string(g.computeCapability) : "GPU";
}

std::string counted(const std::map<std::string, int>& kinds) {
  std::string out;
  for (const auto& [kind, count] : kinds)
    out += (out.empty() ? "" : " and ") + std::to_string(count) + " x " + kind;
  return out;
}

std::string linksText(const Host& host) {
  int least = INT32_MAX, most = 0;
  bool toSwitch = false, xgmi = false;
  for (int g = 0; g < static_cast<int>(host.gpus.size()); ++g) {
    const int links = linksOf(host, g).links;
    least = std::min(least, links);
    most = std::max(most, links);
    for (const GpuLink& l : host.gpus[static_cast<size_t>(g)].links) {
      toSwitch = toSwitch || kindOf(l.targetClass) == DeviceKind::kNvSwitch;
      xgmi = xgmi || l.kind == LinkKind::kXgmi;
    }
  }
  if (most == 0) return "";
  std::string text = std::string(", ") + (xgmi ? "xGMI" : "NVLink") + " x" + std::to_string(most);
  if (least < most) text += " (one GPU " + std::to_string(least) + ")";
  return text + (toSwitch ? " to a switch" : "");
}

std::string nicsText(const Host& host) {
  std::map<int64_t, int> speeds;
  for (const Nic& n : host.nics) ++speeds[n.mbps];
  std::string out;
  for (const auto& [mbps, count] : speeds) {
    out += ", " + std::to_string(count) + (count == 1 ? " NIC" : " NICs");
    if (mbps > 0) out += " of " + std::to_string(mbps / 1000) + " Gbit/s";
  }
  return out;
}

}  // namespace

std::string summaryOf(const Host& host) {
  std::map<std::string, int> gpus;
  for (const Gpu& g : host.gpus) ++gpus[kindOfGpu(g)];
  const size_t nodes = host.numa.size();
  return (gpus.empty() ? "no GPU" : counted(gpus)) + linksText(host) + nicsText(host) + ", " +
         std::to_string(nodes) + (nodes == 1 ? " NUMA node" : " NUMA nodes");
}

std::string shapeKey(const Host& host) {
  std::string shape;
  const int gpus = static_cast<int>(host.gpus.size()), nics = static_cast<int>(host.nics.size());
  const auto add = [&](const Path& p) {
    char text[64];
    std::snprintf(text, sizeof text, "%s %d %.2f;", toText(p.path), p.links, p.GBps);
    shape += text;
  };
  for (int i = 0; i < gpus; ++i) {
    shape += kindOfGpu(host.gpus[static_cast<size_t>(i)]) + "\n";
    for (int j = 0; j < gpus; ++j) add(gpuToGpu(host, i, j));
    for (int j = 0; j < nics; ++j) add(gpuToNic(host, i, j));
  }
  for (int j = 0; j < nics; ++j)
    shape += std::to_string(host.nics[static_cast<size_t>(j)].mbps) + "\n";
  uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a, 64 bits
  for (const char c : shape) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return text;
}

}  // namespace autoccl::topo
