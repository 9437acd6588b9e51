// The ways in which a call can be carried out, and how long each takes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "direct/peer_memory.h"
#include "vendor.h"

namespace autoccl::gpubench {

/// Stock NCCL (no config), or a config of ours.
struct Way {
  std::optional<Config> config;
  [[nodiscard]] std::string text() const { return config ? toText(*config) : "nccl"; }
};

struct Options {
  int ranks = 0;  // 0: one for each GPU
  std::vector<Collective> collectives{Collective::kAllReduce, Collective::kAllGather,
                                      Collective::kReduceScatter};
  std::vector<uint64_t> sizes{64u << 10, 1u << 20, 16u << 20, 128u << 20, 512u << 20};
  DataType dtype = DataType::kBfloat16;
  int rounds = 9;
  bool check = false;
  bool checkOnly = false;
  bool trace = false;
  bool curves = false;
  bool nccl = true;
  std::vector<int> compute;  // sizes of matrix products
  uint64_t memory = uint64_t{256} << 20;
  std::string ncclPath = "libnccl.so.2", cublasPath, json, machine;
};

/// One rank: its GPU, its buffers, NCCL's communicator and our group. Every rank makes the same
/// calls; times are the slowest rank's.
class Rank {
 public:
  Rank(const Options& options, Team& team, const UniqueId& meeting);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] direct::Call callOf(Collective collective, uint64_t bytes) const;
  [[nodiscard]] Task taskOf(Collective collective, uint64_t bytes) const;
  /// Whether this way can run the call: alike on all ranks.
  [[nodiscard]] bool can(const Way& way, const direct::Call& call) const;
  /// Microseconds a call, of `calls` back to back.
  [[nodiscard]] double time(const Way& way, const direct::Call& call, int calls);
  /// The same beside matrix products; 0 where these ended first. `productUs`: of each of them.
  [[nodiscard]] double timeBeside(Load& load, const Way& way, const direct::Call& call, int calls,
                                  double lastUs, double& productUs);
  /// Empty, or what is wrong with the results of one call (a sample of them, of large ones).
  [[nodiscard]] std::string check(const Way& way, direct::Call call);
  /// Microseconds in which every rank's copy engine moves this much to the next rank.
  [[nodiscard]] double copyUs(uint64_t bytes);

  [[nodiscard]] const direct::Cuda& cuda() const { return cuda_; }
  [[nodiscard]] const Nccl* nccl() const { return nccl_.get(); }
  [[nodiscard]] direct::Group& group() { return *group_; }
  [[nodiscard]] std::string device() const;

 private:
  void issue(const Way& way, const direct::Call& call);
  void fill();
  [[nodiscard]] double measured(int calls);

  const direct::Cuda& cuda_;
  const Options& options_;
  Team& team_;
  uint64_t most_;
  direct::DevicePtr send_ = 0, recv_ = 0;
  direct::CudaStream stream_ = nullptr;
  direct::CudaEvent begin_ = nullptr, end_ = nullptr;
  std::unique_ptr<Nccl> nccl_;
  std::unique_ptr<direct::Group> group_;
  std::unique_ptr<direct::Board> board_;
  std::unique_ptr<direct::PeerMemory> peers_;  // of recv, for copyUs
};

}  // namespace autoccl::gpubench
