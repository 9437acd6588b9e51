#include "cli/topo_views.h"
#include "topo/bandwidth.h"
#include "topo/paths.h"

namespace autoccl::cli {
namespace {

using topo::Host;

/// A number that the source does not give has no member: unknown is not 0.
void known(Json& object, const char* key, int64_t value) {
  if (value >= 0) object.add(key, value);
}
void known(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object.add(key, value);
}
void positive(Json& object, const char* key, double value) {
  if (value > 0) object.add(key, value);
}

Json extraJson(const topo::Attributes& extra) {
  Json object = Json::object();
  for (const auto& [key, value] : extra)
    if (object.find(key) == nullptr) object.add(key, value);
  return object;
}

void addExtra(Json& object, const topo::Attributes& extra) {
  if (!extra.empty()) object.add("extra", extraJson(extra));
}

Json numaJson(const topo::NumaNode& n) {
  Json object = Json::object();
  known(object, "id", n.id);
  known(object, "cpus", n.cpus.list());
  known(object, "arch", n.arch);
  known(object, "vendor", n.vendor);
  known(object, "family", n.family);
  known(object, "model", n.model);
  known(object, "memory_bytes", n.memoryBytes);
  addExtra(object, n.extra);
  return object;
}

Json pciJson(const topo::PciDevice& d) {
  Json object = Json::object();
  object.add("bus_id", d.busId);
  known(object, "numa", d.numa);
  known(object, "parent", d.parent);
  known(object, "class", d.deviceClass);
  known(object, "vendor", d.vendor);
  known(object, "device", d.device);
  known(object, "link_speed", d.linkSpeed);
  known(object, "link_width", d.linkWidth);
  if (const auto speed = topo::gigatransfers(d.linkSpeed))
    object.add("GBps", topo::pciGBps(*speed, d.linkWidth));
  if (d.hasSpeed) object.add("nccl_GBps", topo::ncclPciLink(d.linkSpeed, d.linkWidth).GBps);
  known(object, "acs_redirects", d.acs);
  addExtra(object, d.extra);
  return object;
}

Json linkJson(const topo::GpuLink& l) {
  constexpr const char* kKinds[] = {"nvlink", "xgmi", "c2c"};
  Json object = Json::object();
  object.add("kind", kKinds[static_cast<size_t>(l.kind)]);
  known(object, "target", l.target);
  known(object, "count", l.count);
  known(object, "target_class", l.targetClass);
  return object;
}

Json gpuJson(const Host& host, size_t i) {
  const topo::Gpu& g = host.gpus[i];
  Json object = Json::object();
  object.add("name", nameOf(host, g));
  known(object, "index", g.index);
  known(object, "rank", g.rank);
  known(object, "pci", g.pci);
  known(object, "numa", g.numa);
  known(object, "model", g.model.empty() ? g.gcn : g.model);
  known(object, "compute_capability", g.gcn.empty() ? g.computeCapability : -1);
  known(object, "gpu_direct", g.gpuDirect);
  positive(object, "links_GBps", linksOf(host, static_cast<int>(i)).GBps);
  Json links = Json::list();
  for (const topo::GpuLink& l : g.links) links.add(linkJson(l));
  object.add("links", std::move(links));
  addExtra(object, g.extra);
  return object;
}

Json nicJson(const Host& host, size_t i) {
  const topo::Nic& n = host.nics[i];
  Json object = Json::object();
  object.add("name", nameOf(host, n));
  known(object, "index", n.index);
  known(object, "pci", n.pci);
  known(object, "numa", n.numa);
  known(object, "interface", n.interfaceName);
  if (n.mbps > 0) object.add("mbps", n.mbps);
  positive(object, "GBps", nicWidth(host, static_cast<int>(i)));
  known(object, "link_layer", n.linkLayer);
  known(object, "state", n.state);
  known(object, "address", n.address);
  known(object, "port", n.port);
  known(object, "guid", n.guid);
  known(object, "queues", n.queues);
  known(object, "rail", n.rail);
  known(object, "plane", n.plane);
  object.add("rdma", n.rdma);
  addExtra(object, n.extra);
  return object;
}

Json pathJson(const topo::Path& p) {
  Json object = Json::object();
  object.add("class", toText(p.path));
  positive(object, "GBps", p.GBps);
  positive(object, "nccl_GBps", p.ncclGBps);
  if (p.links > 0) object.add("links", p.links);
  return object;
}

/// Rows of GPUs, columns of GPUs and then NICs.
Json pathsJson(const Host& host) {
  Json rows = Json::list();
  const int gpus = static_cast<int>(host.gpus.size()), nics = static_cast<int>(host.nics.size());
  for (int i = 0; i < gpus; ++i) {
    Json row = Json::list();
    for (int j = 0; j < gpus; ++j) row.add(pathJson(gpuToGpu(host, i, j)));
    for (int j = 0; j < nics; ++j) row.add(pathJson(gpuToNic(host, i, j)));
    rows.add(std::move(row));
  }
  return rows;
}

Json limitsJson(const topo::Limits& l) {
  Json object = Json::object();
  if (l.shmBytes > 0) object.add("shm_bytes", l.shmBytes).add("shm_free_bytes", l.shmFreeBytes);
  if (l.memlockBytes > 0 && l.memlockBytes != UINT64_MAX)
    object.add("memlock_bytes", l.memlockBytes);
  positive(object, "cgroup_cpus", l.cgroupCpus);
  return object;
}

}  // namespace

Json topoJson(const Host& host) {
  Json document = Json::object();
  document.add("schema", "autoccl-topology/1").add("source", host.format);
  known(document, "name", host.name);
  Json numa = Json::list(), pci = Json::list(), gpus = Json::list(), nics = Json::list();
  for (const auto& n : host.numa) numa.add(numaJson(n));
  for (const auto& d : host.pci) pci.add(pciJson(d));
  for (size_t i = 0; i < host.gpus.size(); ++i) gpus.add(gpuJson(host, i));
  for (size_t i = 0; i < host.nics.size(); ++i) nics.add(nicJson(host, i));
  document.add("numa", std::move(numa)).add("pci", std::move(pci));
  document.add("gpus", std::move(gpus)).add("nics", std::move(nics));
  document.add("paths", pathsJson(host));
  known(document, "allowed_cpus", host.allowed.list());
  document.add("limits", limitsJson(host.limits));
  known(document, "iommu", host.iommu);
  document.add("unknown_parts", host.unknownParts);
  Json notes = Json::list();
  for (const std::string& note : host.notes) notes.add(note);
  document.add("notes", std::move(notes));
  return document;
}

}  // namespace autoccl::cli
