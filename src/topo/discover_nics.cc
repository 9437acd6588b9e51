#include "topo/discover_nics.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "topo/words.h"

namespace autoccl::topo {
namespace {

const std::string kNet = "/sys/class/net/", kRdma = "/sys/class/infiniband/";

/// The last bus id in a path: that of the PCI device a virtio or RDMA device hangs on.
int pciOf(const SysTree& tree, const Host& host, const std::string& link) {
  int found = -1;
  const std::string path = tree.target(link);
  for (const std::string_view part : split(path, '/'))
    if (isBusId(part)) found = host.pciByBusId(part);
  return found;
}

/// "400 Gb/sec (4X NDR)" in Mbit/s.
int64_t rateOf(const std::string& text) {
  const double gbps = std::strtod(text.c_str(), nullptr);
  return gbps > 0 && gbps < 1e6 ? std::llround(gbps * 1000) : 0;
}

void rdmaDevices(const SysTree& tree, Host& host) {
  for (const std::string& name : tree.names(kRdma)) {
    const int device = pciOf(tree, host, kRdma + name + "/device");
    for (const std::string& port : tree.names(kRdma + name + "/ports")) {
      const std::string folder = kRdma + name + "/ports/" + port + "/";
      Nic nic;
      nic.name = name;
      nic.rdma = true;
      nic.pci = device;
      nic.numa = device >= 0 ? host.pci[static_cast<size_t>(device)].numa : -1;
      nic.port = static_cast<int>(wholeNumber(port).value_or(-1));
      nic.mbps = rateOf(tree.text(folder + "rate"));
      nic.linkLayer = tree.text(folder + "link_layer");
      const std::string state = tree.text(folder + "state");
      nic.state = state.substr(std::min(state.size(), state.find(':') + 2));
      std::string guid = tree.text(kRdma + name + "/node_guid");
      std::erase(guid, ':');
      if (!guid.empty()) nic.guid = "0x" + guid;
      host.nics.push_back(std::move(nic));
    }
  }
}

std::string defaultInterface(const SysTree& tree) {
  const std::string routes = tree.bytes("/proc/net/route");
  for (const std::string_view line : split(routes, '\n')) {
    const auto columns = split(line, '\t');
    if (columns.size() > 2 && columns[1] == "00000000") return std::string(columns[0]);
  }
  return "";
}

int queuesOf(const SysTree& tree, const std::string& interface) {
  const auto names = tree.names(kNet + interface + "/queues");
  return static_cast<int>(
      std::ranges::count_if(names, [](const std::string& n) { return n.starts_with("rx-"); }));
}

void fill(const SysTree& tree, const std::string& interface, Nic& nic) {
  nic.interfaceName = interface;
  nic.queues = queuesOf(tree, interface);
  const std::string state = tree.text(kNet + interface + "/operstate");
  if (nic.rdma) return;  // its port tells speed and state
  nic.state = state;
  nic.linkLayer = "Ethernet";
  nic.mbps = std::max<int64_t>(0, tree.number(kNet + interface + "/speed", 0));
}

void interfaces(const SysTree& tree, Host& host) {
  const std::string route = defaultInterface(tree);
  for (const std::string& name : tree.names(kNet)) {
    const int device = pciOf(tree, host, kNet + name + "/device");
    if (device < 0 && name != route) continue;
    const auto rdma = std::ranges::find_if(host.nics, [&](const Nic& n) {
      return device >= 0 && n.pci == device && n.rdma && n.interfaceName.empty();
    });
    if (rdma != host.nics.end()) {
      fill(tree, name, *rdma);
      continue;
    }
    Nic nic;
    nic.pci = device;
    nic.numa = device >= 0 ? host.pci[static_cast<size_t>(device)].numa : -1;
    fill(tree, name, nic);
    host.nics.push_back(std::move(nic));
  }
}

/// IPv4 addresses with their prefix, for the check of subnets; of the running machine alone.
void addresses(Host& host) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return;
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_netmask == nullptr || at->ifa_addr->sa_family != AF_INET)
      continue;
    const auto nic = std::ranges::find(host.nics, std::string(at->ifa_name), &Nic::interfaceName);
    if (nic == host.nics.end()) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, text,
              sizeof text);
    const auto mask = reinterpret_cast<const sockaddr_in*>(at->ifa_netmask)->sin_addr.s_addr;
    nic->address = std::string(text) + "/" + std::to_string(std::popcount(mask));
  }
  freeifaddrs(all);
}

}  // namespace

void addNics(const SysTree& tree, Host& host) {
  rdmaDevices(tree, host);
  interfaces(tree, host);
  if (tree.live()) addresses(host);
}

}  // namespace autoccl::topo
