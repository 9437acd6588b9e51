#include "agree/agreement.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <thread>

#include "agree/shm_links.h"
#include "base/clock.h"

namespace autoccl {
namespace {

constexpr MacKey kKey{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// All ranks of one communicator in this thread: step() goes round until something holds.
class Ranks {
 public:
  explicit Ranks(int n, const std::function<void(Agreement::Options&)>& change = {}) {
    const size_t bytes = ShmLinks::requiredBytes(n);
    area_.reset(std::aligned_alloc(64, bytes));
    std::fill_n(static_cast<std::byte*>(area_.get()), bytes, std::byte{0});
    for (int rank = 0; rank < n; ++rank) {
      Agreement::Options options;
      options.rank = rank;
      options.nRanks = n;
      options.session = 77;
      options.digest = {"0.1.0", "cpu 1", 5, 6};
      if (change) change(options);
      auto links = std::make_unique<ShmLinks>(area_.get(), bytes, rank, n, options.session, kKey);
      links_.push_back(links.get());
      ranks_.push_back(std::make_unique<Agreement>(options, std::move(links)));
    }
  }
  Agreement& operator[](int rank) { return *ranks_[static_cast<size_t>(rank)]; }
  ShmLinks& links(int rank) { return *links_[static_cast<size_t>(rank)]; }
  bool stepUntil(const std::function<bool()>& holds, int64_t stepNs = 1'000'000,
                 int rounds = 20000) {
    for (int i = 0; i < rounds; ++i) {
      if (holds()) return true;
      now_ += stepNs;
      for (auto& rank : ranks_) rank->step(now_);
    }
    return false;
  }
  bool join() {
    return stepUntil([&] {
      return std::all_of(ranks_.begin(), ranks_.end(), [](auto& r) { return r->joined(); });
    });
  }
  std::optional<Outcome> agree(const Proposal& proposal) {
    if (!stepUntil([&] { return ranks_[0]->propose(proposal, now_); })) return std::nullopt;
    std::optional<Outcome> outcome;
    stepUntil([&] { return (outcome = ranks_[0]->outcome()).has_value(); });
    return outcome;
  }
  int64_t now() const { return now_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> area_;
  std::vector<ShmLinks*> links_;
  std::vector<std::unique_ptr<Agreement>> ranks_;
  int64_t now_ = 1'000'000'000;
};

Task task(uint64_t bytes) {
  return {0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 4, bytes};
}

Config config(uint16_t channels, uint16_t threads = 1) {
  Config c;
  c.channels = channels;
  c.threads = threads;
  c.chunk = 1 << 16;
  return c;
}

Config run(Agreement& rank, const Task& t) {
  Config c = config(1);
  EXPECT_TRUE(rank.resolve(rank.take(t, config(1)), c));
  return c;
}

TEST(Agreement, SwitchesAllRanksAtOneCall) {
  Ranks ranks(4);
  ASSERT_TRUE(ranks.join());
  const Task t = task(1 << 20);
  for (int r = 0; r < 4; ++r)
    for (int i = 0; i <= r; ++i) EXPECT_EQ(run(ranks[r], t), config(1));
  const auto outcome = ranks.agree({{{keyOf(t), {{0, config(2)}, {3, config(4)}}}}, false});
  ASSERT_TRUE(outcome && outcome->committed) << (outcome ? outcome->reason : "no outcome");
  ranks.stepUntil([] { return false; }, 1'000'000, 50);
  const uint64_t from = outcome->fromCalls.at(0);
  EXPECT_GE(from, 4u);
  for (int r = 0; r < 4; ++r) {
    while (ranks[r].nextIndex(keyOf(t)) < from + 10) {
      const uint64_t index = ranks[r].nextIndex(keyOf(t));
      const Config expected = index < from ? config(1) : index < from + 3 ? config(2) : config(4);
      EXPECT_EQ(run(ranks[r], t), expected) << "rank " << r << " call " << index;
    }
    EXPECT_EQ(ranks[r].resolvedDigest(), ranks[0].resolvedDigest());
  }
}

TEST(Agreement, KeepsTuningOffAndNamesRankAndFieldWhereDigestsDiffer) {
  Ranks ranks(3, [](Agreement::Options& o) {
    if (o.rank == 2) o.digest.space = 99;
  });
  ASSERT_TRUE(ranks.stepUntil([&] { return ranks[0].off() && ranks[1].off() && ranks[2].off(); }));
  for (int r = 0; r < 3; ++r) {
    EXPECT_NE(ranks[r].off()->find("rank 2"), std::string::npos) << *ranks[r].off();
    EXPECT_NE(ranks[r].off()->find("space"), std::string::npos) << *ranks[r].off();
    EXPECT_EQ(run(ranks[r], task(64)), config(1));
  }
  EXPECT_FALSE(ranks[0].propose({{{keyOf(task(64)), {{0, config(2)}}}}, false}, ranks.now()));
}

}  // namespace
}  // namespace autoccl
