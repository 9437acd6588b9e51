// How each group is started.
#pragma once

#include <string>
#include <vector>

#include "bench/group.h"

namespace autoccl::bench {

/// One way to measure a peer: a config in its own words, and the kind of barrier before each call.
struct PeerConfig {
  std::string config;
  bool sleepyBarrier = false;
};

/// Another library, or one of its well-known settings, as `--vs` names it.
struct Peer {
  std::string name;
  std::string effect;                  // for the help
  std::string program;                 // beside this one
  std::string launcher;                // "" where the ranks are started one by one
  std::vector<std::string> arguments;  // of the launcher
  std::vector<PeerConfig> configs;     // all are measured, the best stands in the table
};
[[nodiscard]] const std::vector<Peer>& peers();

/// Throws Error that lists the known names, or says which package to install.
[[nodiscard]] GroupSpec peerGroup(const std::string& name, int nRanks);
/// Our own ranks, and the ranks that show the host's limit.
[[nodiscard]] GroupSpec ownGroup();
[[nodiscard]] GroupSpec limitGroup();
/// The configs of a peer that differ for this collective; at least one.
[[nodiscard]] std::vector<PeerConfig> peerConfigs(const std::string& name, Collective collective);

}  // namespace autoccl::bench
