// What lies between hosts, which no host can see: described in a file, read by `topo` and by the
// simulator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autoccl::topo {

/// A kind of link. A message of n bytes takes alphaUs + n / GBps of it; `sharedBy` devices hang on
/// one such link (2: two GPUs behind one uplink). GB/s are of one direction; both work at once.
struct LinkClass {
  double alphaUs = 0;
  double GBps = 0;  // 0: not given
  int sharedBy = 1;
};

/// A leaf switch: the NICs of these rails of these hosts are plugged into it.
struct Leaf {
  std::string name;
  std::vector<int> hosts;  // ascending
  std::vector<int> rails;  // ascending
  int uplinks = 0;         // to the spines, each of LinkClass `spine`; 0: joins nothing further
};

/// Equal hosts behind leaf and spine switches. NIC i of a host is on rail i.
/// Format: docs/topo.md, schema autoccl-fabric/1.
struct Fabric {
  std::string name;
  int hosts = 0;
  std::vector<std::string> hostNames;  // as many as hosts
  int gpusPerHost = 0;
  int nicsPerHost = 0;
  std::string platform;  // of one host: a known platform, or
  std::string hostFile;  // a topology file; both empty: not given
  LinkClass gpu, pci, socket, nic, spine;
  std::vector<Leaf> leaves;
  int spines = 0;

  /// Index of the leaf that has this NIC, or -1.
  [[nodiscard]] int leafOf(int host, int rail) const;
  /// Bandwidth down to hosts over bandwidth up to spines; 0 where a leaf has no uplink.
  [[nodiscard]] double oversubscription(const Leaf& leaf) const;
};

/// Strict: an unknown key, a value out of range, a NIC on two leaves or on none is an error
/// "file:line: reason". Without [[leaf]] each rail has one leaf for all hosts.
[[nodiscard]] Fabric readFabric(std::string_view text, const std::string& file);

/// Equal hosts, one leaf a rail, no file.
[[nodiscard]] Fabric railFabric(int hosts, int gpusPerHost, int nicsPerHost, double nicGbps);

/// The same text for the same fabric; readFabric reads it back.
[[nodiscard]] std::string writeFabric(const Fabric& fabric);

}  // namespace autoccl::topo
