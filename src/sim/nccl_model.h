// NCCL's own choice of algorithm and protocol, from our implementation of its documented cost
// model: what the library would do on a machine that is not there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace autoccl::sim {

inline constexpr int kNcclFunctions = 5;   // in the order of store/nccl/choice.h
inline constexpr int kNcclAlgorithms = 7;  // likewise
inline constexpr int kNcclProtocols = 3;   // likewise

/// What NCCL's search finds for one algorithm: so many channels of so many GB/s each, inside a node
/// and between nodes. 0 channels: the algorithm is not there.
struct NcclGraph {
  int channels = 0;
  double intraGBps = 0;
  double interGBps = 0;
  double interLatencyUs = 0;  // of the network beyond NCCL's own constants
  bool nvlink = true;         // inside the node; else PCIe
  bool sameChannels = true;   // every channel takes the GPUs in one order
  bool ll128 = true;          // stores of 128 bytes stay whole on every path
};

enum class CpuVendor { kIntel, kAmd, kOther };

/// The cluster as the model sees it.
struct NcclCluster {
  int nodes = 1;
  int ranks = 2;
  int computeCapability = 90;  // 70, 80, 90, 100: the lowest of the GPUs
  CpuVendor cpu = CpuVendor::kIntel;
  bool simpleTree = false;  // one parent and child per node (".85" in the model)
  bool patPossible = true;  // one GPU a node and no device offload
  int commChannels = 0;     // of the communicator; 0: twice the ring's
  std::array<NcclGraph, kNcclAlgorithms> graphs;
};

/// Microseconds per [algorithm][protocol]; negative where NCCL has no such pair there.
using NcclTimes = std::array<std::array<double, kNcclProtocols>, kNcclAlgorithms>;

struct NcclChoice {
  int algorithm = -1;
  int protocol = -1;
  double us = 0;

  friend bool operator==(const NcclChoice&, const NcclChoice&) = default;
};

/// The smallest time that is not negative; ties go to the lower algorithm, then protocol. Algorithm
/// -1 where there is none.
[[nodiscard]] NcclChoice smallest(const NcclTimes& times);
/// The same algorithm and protocol, whatever the time.
[[nodiscard]] bool samePair(const NcclChoice& a, const NcclChoice& b);

/// The model: time = latency x operations in the pipeline + bytes / bandwidth, with latency and
/// bandwidth per (function, algorithm, protocol) from the cluster. Built once, then pure and cheap.
/// It follows NCCL 2.22 to 2.30; 2.31 counts otherwise. Source: nccl graph/tuning.cc, release
/// 2.30.7, re-implemented; constants are NVIDIA's measurements.
class NcclModel {
 public:
  explicit NcclModel(const NcclCluster& cluster);

  /// `bytes` as NCCL counts them: element size times the larger of total send and receive count.
  [[nodiscard]] NcclTimes times(int function, uint64_t bytes, int pipeOps = 1) const;
  [[nodiscard]] NcclChoice choice(int function, uint64_t bytes, int pipeOps = 1) const;

 private:
  struct Line {  // time(bytes) without the corrections by size
    double latencyUs = 0;
    double GBps = 0;
  };
  [[nodiscard]] double timeOf(int function, int algorithm, int protocol, uint64_t bytes,
                              int pipeOps) const;
  [[nodiscard]] double bandwidth(int function, int algorithm, int protocol) const;
  [[nodiscard]] double busBandwidth(int function, int algorithm, int protocol) const;
  [[nodiscard]] double latency(int function, int algorithm, int protocol) const;
  [[nodiscard]] double ringLatency(int function, int protocol) const;
  [[nodiscard]] int steps(int function) const;

  NcclCluster cluster_;
  std::array<std::array<std::array<Line, kNcclProtocols>, kNcclAlgorithms>, kNcclFunctions>
      lines_{};
};

/// A size from which on another pair is chosen.
struct NcclCrossover {
  uint64_t fromBytes = 0;
  NcclChoice choice;
};

/// The choices from `low` to `high` bytes, each with the first size (to the byte, within a factor
/// of two of which it was looked for) at which it holds.
[[nodiscard]] std::vector<NcclCrossover> crossovers(const NcclModel& model, int function,
                                                    uint64_t low, uint64_t high);

}  // namespace autoccl::sim
