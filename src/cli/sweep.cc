#include "cli/sweep.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "autoccl/autoccl.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/collective_caller.h"

namespace autoccl::cli {
namespace {

constexpr int kCallsPerTurn = 8;
constexpr size_t kPage = 4096;  // of the block

[[noreturn]] void failOn(const char* what) {
  throw Error(ErrorCode::kSystem, std::string("the sweep's meeting place: ") + what + ": " +
                                      std::error_code(errno, std::generic_category()).message());
}

struct CommunicatorCloser {
  void operator()(acclComm* comm) const { acclCommDestroy(comm); }
};

class Rank {
 public:
  explicit Rank(const Sweep& sweep) {
    acclComm_t comm = nullptr;
    needSuccess(acclCommInitFromEnv(&comm), nullptr);
    comm_.reset(comm);
    needSuccess(acclCommCount(comm, &nRanks_), comm);
    needSuccess(acclCommUserRank(comm, &rank_), comm);
    const uint64_t most = *std::max_element(sweep.sizes.begin(), sweep.sizes.end());
    caller_ = std::make_unique<CollectiveCaller>(comm, most, sweep.registered);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int nRanks() const { return nRanks_; }
  [[nodiscard]] bool tuned() const {
    int tuned = 0;
    needSuccess(acclCommTuned(comm_.get(), &tuned), comm_.get());
    return tuned != 0;
  }
  void finish() { needSuccess(acclCommFinalize(comm_.get()), comm_.get()); }

  void call(Collective collective, uint64_t bytes) { caller_->call(collective, bytes); }

 private:
  std::unique_ptr<acclComm, CommunicatorCloser> comm_;
  std::unique_ptr<CollectiveCaller> caller_;
  int rank_ = 0, nRanks_ = 1;
};

}  // namespace

SweepBlock::SweepBlock() : fd_(memfd_create("autoccl-sweep", MFD_CLOEXEC)) {
  if (fd_ < 0 || ftruncate(fd_, kPage) != 0) failOn("make");
  map();
}

SweepBlock::SweepBlock(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) failOn("open");
  if (status.st_size < static_cast<off_t>(kPage))
    throw Error(ErrorCode::kUsage, path + ": is no meeting place of autoccl tune");
  map();
}

SweepBlock::~SweepBlock() {
  if (meeting_ != nullptr) munmap(meeting_, kPage);
  if (fd_ >= 0) close(fd_);
}

void SweepBlock::map() {
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) failOn("map");
  meeting_ = static_cast<SweepMeeting*>(memory);
}

std::string SweepBlock::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
}

void runSweepRank(const Sweep& sweep, SweepBlock& meeting) {
  Rank rank(sweep);
  const int64_t end = nowNs() + static_cast<int64_t>(sweep.maxSeconds * 1e9);
  const WaitRules rules;
  for (uint32_t round = 1;; ++round) {
    for (const Collective collective : sweep.collectives)
      for (const uint64_t bytes : sweep.sizes)
        for (int i = 0; i < kCallsPerTurn; ++i) rank.call(collective, bytes);
    if (rank.rank() == 0 && (rank.tuned() || nowNs() > end)) meeting->last.store(round);
    add(meeting->arrived, 1);
    (void)waitFor(meeting->arrived, round * static_cast<uint32_t>(rank.nRanks()), rules);
    if (meeting->last.load() == round) break;
  }
  rank.finish();
}

}  // namespace autoccl::cli
