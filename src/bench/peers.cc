#include "bench/peers.h"

#include <unistd.h>

#include <filesystem>

#include "base/error.h"

namespace autoccl::bench {
namespace {

std::string programBesideThis(const std::string& name) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / name).string();
}

bool onPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (access((std::string(rest.substr(0, end)) + "/" + name).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

const Peer& peerNamed(const std::string& name) {
  std::string known;
  for (const Peer& p : peers()) {
    if (p.name == name) return p;
    known += (known.empty() ? "" : ", ") + p.name;
  }
  throw Error(ErrorCode::kUsage, "--vs: unknown library '" + name + "'", "known are " + known);
}

}  // namespace

const std::vector<Peer>& peers() {
  static const std::vector<std::string> plain = {"--oversubscribe", "--bind-to", "none"};
  static const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), plain.begin(), plain.end());
    return more;
  };
  static const std::vector<PeerConfig> once = {{"", false}};
  static const std::vector<PeerConfig> gloo = {
      {"ring", false}, {"ring", true}, {"hd", false}, {"hd", true}};
  static const std::vector<Peer> table = {
      {"openmpi", "Open MPI, default settings", "autoccl-peer-openmpi", "mpirun.openmpi", plain,
       once},
      {"openmpi-ucx", "Open MPI over UCX", "autoccl-peer-openmpi", "mpirun.openmpi",
       with({"--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca",
             "opal_common_ucx_devices", "any"}),
       once},
      {"openmpi-segring", "Open MPI, segmented ring AllReduce, 256 KiB", "autoccl-peer-openmpi",
       "mpirun.openmpi",
       with({"--mca", "coll_tuned_use_dynamic_rules", "1", "--mca",
             "coll_tuned_allreduce_algorithm", "5", "--mca",
             "coll_tuned_allreduce_algorithm_segmentsize", "262144"}),
       once},
      {"mpich",
       "MPICH, default settings",
       "autoccl-peer-mpich",
       "mpirun.mpich",
       {"-bind-to", "none"},
       once},
      {"gloo", "Gloo over loopback TCP, its better AllReduce", "autoccl-peer-gloo", "", {}, gloo},
  };
  return table;
}

GroupSpec peerGroup(const std::string& name, int nRanks) {
  const Peer& peer = peerNamed(name);
  const std::string program = programBesideThis(peer.program);
  if (access(program.c_str(), X_OK) != 0)
    throw Error(ErrorCode::kUsage, "--vs " + name + ": " + program + " was not built",
                "install the library's -dev package (libopenmpi-dev, libmpich-dev, libgloo-dev) "
                "and build again");
  if (peer.launcher.empty()) return {name, {program}, false, {}};
  if (!onPath(peer.launcher))
    throw Error(ErrorCode::kUsage, "--vs " + name + ": " + peer.launcher + " is not on PATH",
                "install openmpi-bin or mpich");
  GroupSpec spec{name, {peer.launcher, "-n", std::to_string(nRanks)}, true, {}};
  spec.argv.insert(spec.argv.end(), peer.arguments.begin(), peer.arguments.end());
  spec.argv.push_back(program);
  spec.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  return spec;
}

GroupSpec ownGroup() {
  return {"autoccl", {programBesideThis("autoccl-bench-worker")}, false, {}};
}

GroupSpec limitGroup() {
  return {"limit", {programBesideThis("autoccl-bench-limit")}, false, {}};
}

std::vector<PeerConfig> peerConfigs(const std::string& name, Collective collective) {
  std::vector<PeerConfig> configs = peerNamed(name).configs;
  // Algorithms can be chosen for AllReduce only.
  if (collective != Collective::kAllReduce)
    std::erase_if(configs, [first = configs.front().config](const PeerConfig& c) {
      return c.config != first;
    });
  return configs;
}

}  // namespace autoccl::bench
