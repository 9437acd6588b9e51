// The built-in sweep of `autoccl tune`: calls of given collectives and sizes until all are tuned.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "model/types.h"
#include "transport/wait.h"

namespace autoccl::cli {

/// Which calls: every collective with every size (nBytes as NCCL counts them), float32 sum.
struct Sweep {
  std::vector<Collective> collectives;
  std::vector<uint64_t> sizes;
  bool registered = true;  // buffers from acclMemAlloc
  double maxSeconds = 60;
};

/// Where the ranks of one sweep meet after each round, so that all stop after the same one. Zero is
/// the valid first state. Lives on a memfd that the ranks open by path; nothing of it has a name in
/// a file system.
struct SweepMeeting {
  Flag arrived;                   // ranks, over all rounds
  std::atomic<uint32_t> last{0};  // by rank 0: this round is the last; 0: go on
};
class SweepBlock {
 public:
  SweepBlock();                                  // makes
  explicit SweepBlock(const std::string& path);  // opens; path() of the maker
  ~SweepBlock();
  SweepBlock(const SweepBlock&) = delete;
  SweepBlock& operator=(const SweepBlock&) = delete;
  SweepMeeting* operator->() const noexcept { return meeting_; }
  [[nodiscard]] std::string path() const;

 private:
  void map();
  int fd_ = -1;
  SweepMeeting* meeting_ = nullptr;
};

/// One rank's share, in a process that `autoccl tune` has started: its communicator comes from the
/// environment. Throws Error with the library's sentence where a call fails.
void runSweepRank(const Sweep& sweep, SweepBlock& meeting);

}  // namespace autoccl::cli
