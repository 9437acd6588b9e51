// For tests: all ranks of one communicator in one thread, over any kind of link.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agree/agreement.h"
#include "agree/shm_links.h"
#include "agree/sim_links.h"
#include "agree/tcp_links.h"
#include "base/clock.h"

namespace autoccl {

enum class LinkKind { kShm, kTcp, kSim };

inline constexpr MacKey kTestKey{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// Memory as an engine's segment gives it: aligned to a line, zero.
class ZeroArea {
 public:
  explicit ZeroArea(size_t bytes) : bytes_(bytes), memory_(std::aligned_alloc(64, bytes)) {
    std::fill_n(static_cast<std::byte*>(memory_), bytes, std::byte{0});
  }
  ~ZeroArea() { std::free(memory_); }
  ZeroArea(const ZeroArea&) = delete;
  ZeroArea& operator=(const ZeroArea&) = delete;
  [[nodiscard]] void* data() const { return memory_; }
  [[nodiscard]] size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  void* memory_;
};

/// Steps every rank in turn; time is the test's own, but for TCP, where it is the clock's.
class Ranks {
 public:
  using Change = std::function<void(Agreement::Options&)>;
  Ranks(LinkKind kind, int n, const Change& change = {})
      : kind_(kind), area_(ShmLinks::requiredBytes(n)) {
    net_ = std::make_shared<SimNet>(n, 1, 3'000'000);
    for (int rank = 0; rank < n; ++rank) {
      Agreement::Options options;
      options.rank = rank;
      options.nRanks = n;
      options.session = 77;
      options.digest = {"0.1.0", "cpu 1", 5, 6};
      if (change) change(options);
      ranks_.push_back(std::make_unique<Agreement>(options, makeLinks(options)));
    }
    active_.assign(static_cast<size_t>(n), true);
  }

  Agreement& operator[](int rank) { return *ranks_[static_cast<size_t>(rank)]; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int64_t now() const { return now_; }
  /// A rank that is paused takes no step.
  void pause(int rank, bool paused) { active_[static_cast<size_t>(rank)] = !paused; }
  /// The rank ends its part.
  void leave(int rank) {
    pause(rank, true);
    ranks_[static_cast<size_t>(rank)].reset();
  }
  /// The link between two ranks is lost, or comes back.
  void cut(int a, int b, bool cut) {
    net_->cut(a, b, cut);
    if (kind_ != LinkKind::kTcp) return;
    tcp_[static_cast<size_t>(a)]->cut(b, cut);
    tcp_[static_cast<size_t>(b)]->cut(a, cut);
  }

  bool stepUntil(const std::function<bool()>& holds, int64_t forNs = 20'000'000'000) {
    if (now_ == 0 || kind_ == LinkKind::kTcp) now_ = nowNs();
    for (const int64_t end = now_ + forNs; now_ < end;) {
      if (holds()) return true;
      now_ = kind_ == LinkKind::kTcp ? nowNs() : now_ + 500'000;
      for (size_t i = 0; i < ranks_.size(); ++i)
        if (active_[i]) ranks_[i]->step(now_);
      if (kind_ == LinkKind::kTcp) std::this_thread::yield();
    }
    return false;
  }
  void stepFor(int64_t ns) {
    (void)stepUntil([] { return false; }, ns);
  }
  /// Steps while another thread works: a little of the ranks' time for each look at the thread,
  /// which lives in real time.
  template <class Future>
  bool stepUntilReady(Future& future) {
    for (int i = 0; i < 2000; ++i) {
      if (future.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) return true;
      stepFor(10'000'000);
    }
    return false;
  }
  bool join() {
    return stepUntil([&] {
      return std::all_of(ranks_.begin(), ranks_.end(), [](auto& r) { return r->joined(); });
    });
  }
  /// Proposes as soon as rank 0 may, and waits for the outcome.
  Outcome agree(const Proposal& proposal) {
    std::optional<Outcome> outcome;
    if (!stepUntil([&] { return ranks_[0]->propose(proposal, now_); }))
      ADD_FAILURE() << "rank 0 takes no proposal: " << ranks_[0]->off().value_or("no reason");
    else if (!stepUntil([&] { return (outcome = ranks_[0]->outcome()).has_value(); }))
      ADD_FAILURE() << "no outcome";
    return outcome.value_or(Outcome{});
  }

 private:
  std::unique_ptr<LinkSet> makeLinks(const Agreement::Options& o) {
    if (kind_ == LinkKind::kShm)
      return std::make_unique<ShmLinks>(area_.data(), area_.size(), o.rank, o.nRanks, o.session,
                                        kTestKey);
    if (kind_ == LinkKind::kSim) return std::make_unique<SimLinks>(net_, o.rank);
    TcpLinks::Options tcp;
    tcp.rank = o.rank;
    tcp.nRanks = o.nRanks;
    tcp.session = o.session;
    tcp.key = kTestKey;
    if (!tcp_.empty()) tcp.candidates = {{"127.0.0.1", tcp_[0]->port()}};
    auto links = std::make_unique<TcpLinks>(tcp);
    tcp_.push_back(links.get());
    return links;
  }

  LinkKind kind_;
  ZeroArea area_;
  std::shared_ptr<SimNet> net_;
  std::vector<TcpLinks*> tcp_;
  std::vector<std::unique_ptr<Agreement>> ranks_;
  std::vector<bool> active_;
  int64_t now_ = 0;
};

inline Task testTask(uint64_t bytes) {
  return {0, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 4, bytes};
}

inline Config testConfig(uint16_t channels, uint16_t threads = 1) {
  Config c;
  c.channels = channels;
  c.threads = threads;
  c.chunk = 1 << 16;
  return c;
}

inline Proposal changeOf(const Task& task, std::vector<Proposal::Entry> entries,
                         bool freeze = false) {
  return {{{keyOf(task), std::move(entries)}}, freeze};
}

/// One call of the task on this rank, with testConfig(1) for a default.
inline Config runCall(Agreement& rank, const Task& task) {
  Config c = testConfig(1);
  EXPECT_TRUE(rank.resolve(rank.take(task, testConfig(1)), c)) << rank.off().value_or("");
  return c;
}

}  // namespace autoccl
