#include "team.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "base/error.h"

namespace autoccl::gpubench {
namespace {

constexpr int64_t kPatience = 60'000'000'000;

}  // namespace

struct Team::Shared {
  std::atomic<int> arrived{0};
  std::atomic<int> turn{0};
  double values[kMost] = {};
  char bytes[256] = {};
};

Team::Team(int nRanks) : nRanks_(nRanks) {
  void* at =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw Error(ErrorCode::kSystem, "no memory for the ranks to meet in");
  shared_ = new (at) Shared;
}

void Team::meet() {
  const int turn = shared_->turn.load();
  if (shared_->arrived.fetch_add(1) + 1 == nRanks_) {
    shared_->arrived.store(0);
    shared_->turn.store(turn + 1);
    return;
  }
  const int64_t deadline = nowNs() + kPatience;
  while (shared_->turn.load() == turn) {
    if (nowNs() > deadline) throw Error(ErrorCode::kTimeout, "another rank is gone");
    sched_yield();
  }
}

double Team::most(double mine) {
  shared_->values[rank_] = mine;
  meet();
  const double most = *std::max_element(shared_->values, shared_->values + nRanks_);
  meet();
  return most;
}

void Team::fromFirst(void* bytes, size_t n) {
  if (rank_ == 0) std::memcpy(shared_->bytes, bytes, n);
  meet();
  std::memcpy(bytes, shared_->bytes, n);
  meet();
}

}  // namespace autoccl::gpubench
