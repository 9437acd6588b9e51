#include "topo/nccl_env.h"

#include <algorithm>

#include "topo/paths.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr int kRailsInHca = 23000;   // NCCL_IB_HCA=name:port:rail:plane
constexpr int kNamesForGdr = 20304;  // NCCL_NET_GDR_LEVEL takes names

std::string railText(const Nic& n, bool rails) {
  std::string text = n.name;
  if (n.port >= 0) text += ":" + std::to_string(n.port);
  if (rails && n.port >= 0 && n.rail >= 0) {
    text += ":" + std::to_string(n.rail);
    if (n.plane >= 0) text += ":" + std::to_string(n.plane);
  }
  return text;
}

/// RDMA devices that carry traffic, nearest to GPU 0 first, then GPU 1 and so on.
std::vector<int> usefulRdma(const Host& host) {
  std::vector<int> order;
  const auto add = [&](int nic) {
    const Nic& n = host.nics[static_cast<size_t>(nic)];
    const bool down = !n.state.empty() && lower(n.state) != "active" && lower(n.state) != "up";
    if ((n.rdma || n.declared) && !n.name.empty() && !down &&
        std::ranges::find(order, nic) == order.end())
      order.push_back(nic);
  };
  for (int g = 0; g < static_cast<int>(host.gpus.size()); ++g) {
    const std::vector<int> near = nicsByDistance(host, g);
    if (!near.empty() && gpuToNic(host, g, near.front()).path <= PathClass::kPxb) add(near.front());
  }
  for (int nic = 0; order.empty() && nic < static_cast<int>(host.nics.size()); ++nic) add(nic);
  return order;
}

std::string hcaLine(const Host& host, const EnvRequest& request, int version) {
  const std::vector<int> nics = usefulRdma(host);
  const auto isRdma = [](const Nic& n) { return n.rdma || n.declared; };
  const auto all = std::ranges::count_if(host.nics, isRdma);
  const bool withRails = request.rails && version >= kRailsInHca;
  if (nics.empty() || (static_cast<long>(nics.size()) == all && !withRails)) return "";
  std::string list;
  for (const int nic : nics)
    list += (list.empty() ? "" : ",") + railText(host.nics[static_cast<size_t>(nic)], withRails);
  return "# the NICs next to the GPUs, in the order of the GPUs; others are down, slow or far\n"
         "NCCL_IB_HCA==" +
         list + "\n";
}

/// NCCL's default is PXB: a GPU whose nearest NIC is behind the host bridge gets no GPUDirect.
std::string gdrLine(const Host& host, int version) {
  const bool behindBridge =
      !host.gpus.empty() && !host.nics.empty() && std::ranges::all_of(host.gpus, [&](const Gpu& g) {
        const int i = static_cast<int>(&g - host.gpus.data());
        return gpuToNic(host, i, nicsByDistance(host, i).front()).path == PathClass::kPhb;
      });
  if (!behindBridge) return "";
  return "# every GPU reaches its NIC through the host bridge, where NCCL leaves GPUDirect RDMA "
         "off;\n"
         "# on some boards that is right: measure with and without this line\n"
         "#NCCL_NET_GDR_LEVEL=" +
         std::string(version >= kNamesForGdr ? "PHB" : "3") + "\n";
}

}  // namespace

std::string ncclEnvironment(const Host& host, const EnvRequest& request) {
  const int version = request.ncclVersion == 0 ? 99999 : request.ncclVersion;
  std::string lines;
  if (!request.topologyFile.empty())
    lines += "# the machine as this file says it\nNCCL_TOPO_FILE=" + request.topologyFile + "\n";
  lines += hcaLine(host, request, version);
  const std::vector<int> nics = usefulRdma(host);
  if (request.rails && nics.size() > 1)
    lines +=
        "# rings stay on their rail: rank i of each host uses the same leaf\nNCCL_CROSS_NIC=0\n";
  lines += gdrLine(host, version);
  return lines.empty() ? "# NCCL's own choice needs no line here\n" : lines;
}

}  // namespace autoccl::topo
