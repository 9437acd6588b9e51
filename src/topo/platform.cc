#include "topo/platform.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "topo/bandwidth.h"
#include "topo/nccl_complete.h"
#include "topo/paths.h"
#include "topo/platform_files.h"
#include "topo/toml_fields.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr std::string_view kSchema = "autoccl-platform/1";

void hostPart(const TomlValue& table, const std::string& file, Platform& p) {
  TomlFields f(table, "[host]", file);
  p.numa = f.whole("numa", 1, 64);
  p.cpu = f.text("cpu");
  p.gpus = f.whole("gpus", 1, 64);
  p.gpu = f.text("gpu");
  if (f.has("compute_capability")) p.computeCapability = f.whole("compute_capability", 50, 200);
  p.links = f.whole("links", 0, 64);
  const std::string link = f.text("link");
  if (link != "nvlink" && link != "xgmi")
    f.fail("link", "is '" + link + "'; allowed are nvlink, xgmi");
  p.link = link == "xgmi" ? LinkKind::kXgmi : LinkKind::kNvlink;
  p.nics = f.whole("nics", 0, 64);
  p.nicGbps = f.number("nic_gbps", 0.1, 10000);
  f.done();
  try {
    (void)cpuFactsOf(p.cpu);
  } catch (const Error&) {
    f.fail("cpu", "is '" + p.cpu + "', no CPU as --cpu takes it");
  }
}

int addDevice(Host& host, const std::string& busId, const char* deviceClass, int numa, int parent) {
  PciDevice d;
  d.busId = busId;
  d.deviceClass = deviceClass;
  d.numa = numa;
  d.parent = parent;
  host.pci.push_back(std::move(d));
  return static_cast<int>(host.pci.size()) - 1;
}

std::string busIdOf(int bus, int device) {
  char text[32];
  std::snprintf(text, sizeof text, "0000:%02x:%02x.0", bus, device);
  return text;
}

void addGpu(Host& host, const Platform& p, int index, int pci, int numa) {
  Gpu g;
  g.pci = pci;
  g.numa = numa;
  g.index = g.rank = index;
  g.model = p.gpu;
  if (p.link == LinkKind::kXgmi) g.gcn = p.gpu;
  g.computeCapability = p.computeCapability;
  host.gpus.push_back(std::move(g));
}

void addLinks(Host& host, const Platform& p) {
  if (p.links == 0) return;
  for (size_t i = 0; i < host.gpus.size(); ++i) {
    GpuLink link;
    link.kind = p.link;
    link.count = p.links;
    link.target = "nvswitch";
    link.targetClass = "0x068000";
    if (p.link == LinkKind::kNvlink) host.gpus[i].links.push_back(link);
    for (size_t j = 0; p.link == LinkKind::kXgmi && j < host.gpus.size(); ++j) {
      if (j == i) continue;
      link.count = std::max(1, p.links / (p.gpus - 1));
      link.target = host.pci[static_cast<size_t>(host.gpus[j].pci)].busId;
      link.targetClass = "0x120000";
      host.gpus[i].links.push_back(link);
    }
  }
}

void less(const std::string& file, const std::string& title, const std::string& what, double has,
          double wants, std::vector<Finding>& out) {
  if (has >= wants * 0.99) return;
  char figures[64];
  std::snprintf(figures, sizeof figures, "%g of %g ", has, wants);
  out.push_back(
      {file, figures + what + " that " + title + " has",
       "the job runs on a part of the machine, or the machine is broken",
       "look for what is missing: devices handed to the container, links, ports, firmware",
       "topo-platform"});
}

}  // namespace

Platform readPlatform(std::string_view text, const std::string& file) {
  const TomlValue root = parseToml(text, file);
  TomlFields f(root, "the file", file);
  if (const std::string schema = f.text("schema"); schema != kSchema)
    f.fail("schema", "is '" + schema + "'; this reads " + std::string(kSchema));
  Platform p;
  p.name = f.text("name");
  p.title = f.text("title");
  p.source = f.text("source");
  if (f.has("product")) p.product = f.text("product");
  p.checks = f.texts("checks");
  hostPart(f.table("host"), file, p);
  for (const TomlValue* table : f.tables("variable")) {
    TomlFields v(*table, "[[variable]]", file);
    p.variables.push_back({v.text("name"), v.text("value"), v.text("why")});
    v.done();
  }
  f.done();
  return p;
}

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = [] {
    std::vector<Platform> read;
    read.reserve(platformFiles().size());
    for (const PlatformFile& file : platformFiles())
      read.push_back(readPlatform(file.text, std::string(file.name)));
    return read;
  }();
  return all;
}

const Platform& platformNamed(const std::string& name) {
  std::string known;
  for (const Platform& p : platforms()) {
    if (p.name == name) return p;
    known += (known.empty() ? "" : ", ") + p.name;
  }
  throw Error(ErrorCode::kUsage, "platform '" + name + "' is not known", "known are " + known);
}

Host hostOf(const Platform& p) {
  const CpuFacts cpu = cpuFactsOf(p.cpu);
  Host host;
  host.format = "platform";
  host.name = p.name;
  for (int i = 0; i < p.numa; ++i) {
    NumaNode node;
    node.id = i;
    node.arch = cpu.arch;
    node.vendor = cpu.vendor;
    node.family = cpu.family;
    node.model = cpu.model;
    host.numa.push_back(std::move(node));
  }
  const int switches = p.nics > 0 ? std::min(p.gpus, p.nics) : p.gpus;
  std::vector<int> at;
  at.reserve(static_cast<size_t>(switches));
  for (int i = 0; i < switches; ++i)
    at.push_back(addDevice(host, busIdOf(i + 1, 0), "0x060400", i * p.numa / switches, -1));
  for (int i = 0; i < p.gpus; ++i) {
    const int owner = i * switches / p.gpus;
    const int numa = owner * p.numa / switches;
    const int bridge = at[static_cast<size_t>(owner)];
    addGpu(host, p, i, addDevice(host, busIdOf(owner + 1, 1 + i % 8), "0x030200", numa, bridge),
           numa);
  }
  for (int i = 0; i < p.nics; ++i) {
    const int owner = i * switches / p.nics;
    const int numa = owner * p.numa / switches;
    Nic n;
    n.pci = addDevice(host, busIdOf(owner + 1, 9 + i % 20), "0x020700", numa,
                      at[static_cast<size_t>(owner)]);
    n.numa = numa;
    n.index = i;
    n.name = "nic" + std::to_string(i);
    n.mbps = static_cast<int64_t>(p.nicGbps * 1000);
    host.nics.push_back(std::move(n));
  }
  addLinks(host, p);
  return host;
}

std::vector<Finding> lintPlatform(const Host& host, const Platform& p, const std::string& file) {
  std::vector<Finding> out;
  less(file, p.title, "GPUs", static_cast<double>(host.gpus.size()), p.gpus, out);
  less(file, p.title, "NICs", static_cast<double>(host.nics.size()), p.nics, out);
  less(file, p.title, "NUMA nodes", static_cast<double>(host.numa.size()), p.numa, out);
  bool known = false;
  int least = INT32_MAX;
  for (int g = 0; g < static_cast<int>(host.gpus.size()); ++g) {
    const int links = linksOf(host, g).links;
    known = known || links > 0;
    least = std::min(least, links);
  }
  if (known) less(file, p.title, "links of a GPU", least, p.links, out);
  int64_t slowest = INT64_MAX;
  for (const Nic& n : host.nics)
    if (n.mbps > 0) slowest = std::min(slowest, n.mbps);
  if (slowest != INT64_MAX)
    less(file, p.title, "Gbit/s of a NIC", static_cast<double>(slowest) / 1000, p.nicGbps, out);
  return out;
}

}  // namespace autoccl::topo
