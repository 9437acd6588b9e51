#include "edge/session/session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "agree/shm_links.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "edge/session/leader.h"
#include "edge/session/leader_files.h"
#include "edge/session/record_book.h"
#include "edge/session/rendezvous.h"
#include "edge/session/sample_links.h"
#include "edge/session/session_gate.h"
#include "edge/session/session_memory.h"

namespace autoccl {
namespace {

constexpr int64_t kRecordEveryNs = 1'000'000'000;
constexpr int64_t kLeaderNapNs = 2'000'000;  // between looks at the samples
constexpr int64_t kShortestNapNs = 50'000;

uint64_t hashText(const std::string& text) {
  uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

/// Settings that change what ranks do together.
std::string settingsText() {
  std::string text;
  for (const char* name : {"AUTOCCL_DETERMINISTIC", "AUTOCCL_CHECK", "AUTOCCL_MAX_CHANNELS",
                           "AUTOCCL_MAX_THREADS", "AUTOCCL_MAX_CHUNK", "AUTOCCL_WAIT"})
    text += settingText(name) + ";";
  return text;
}

}  // namespace

/// Members in the order of their making: the gate needs the agreement, the agreement the board.
class TuningSession::Impl {
 public:
  explicit Impl(Seat seat)
      : seat_(std::move(seat)),
        memory_(sharedArea(), seat_.nRanks),
        board_(memory_.board(), seat_.nRanks),
        agreement_(agreementOptions(), links()),
        gate_(agreement_, board_, recorder_, seat_.rank) {
    if (seat_.rank == 0)
      leader_ = std::make_unique<Leader>(leaderOptions(seat_), agreement_, board_, seat_.spaceFor);
    marks_ = leader_.get();
    if (leader_) board_.setReady();
    seat_.setGate(&gate_);
    agent_ = std::thread([this] { serve(); });
  }

  ~Impl() {
    agreement_.abort();
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    agent_.join();
    seat_.setGate(nullptr);
  }

  void stepMark() noexcept {
    if (marks_) marks_->stepMark(nowNs());
  }
  [[nodiscard]] bool settled() const noexcept {
    return board_.settledTasks() >= std::max<uint64_t>(1, agreement_.tasksCalled());
  }
  void abort() noexcept { agreement_.abort(); }

 private:
  Agreement::Options agreementOptions() const {
    Agreement::Options options;
    options.rank = seat_.rank;
    options.nRanks = seat_.nRanks;
    options.session = seat_.sessionId;
    options.digest.version = AUTOCCL_VERSION;
    options.digest.library = seat_.library;
    options.digest.settings = hashText(settingsText());
    options.digest.space = hashText(seat_.capabilities);
    options.metTasksOnly = true;
    options.canRun = seat_.canRun;
    options.fenceTimeoutNs = static_cast<int64_t>(settingNumber("AUTOCCL_FENCE_TIMEOUT") * 1e9);
    options.joinTimeoutNs = static_cast<int64_t>(settingNumber("AUTOCCL_INIT_TIMEOUT") * 1e9);
    return options;
  }

  /// Nothing where the ranks share no memory.
  [[nodiscard]] std::optional<std::span<std::byte>> sharedArea() const {
    const auto* shared = std::get_if<SharedMemory>(&seat_.link);
    return shared ? std::optional(shared->area) : std::nullopt;
  }

  std::unique_ptr<LinkSet> links() {
    const auto* tcp = std::get_if<Tcp>(&seat_.link);
    if (!tcp) {
      const auto area = memory_.links();
      return std::make_unique<ShmLinks>(area.data(), area.size(), seat_.rank, seat_.nRanks,
                                        seat_.sessionId, seat_.key);
    }
    const TcpLinks::Options options{seat_.rank, seat_.nRanks, seat_.sessionId, seat_.key,
                                    tcp->candidates};
    auto links = std::make_unique<SampleLinks>(options, board_);
    samples_ = links.get();
    return links;
  }

  /// The agent thread: frames, samples, proposals, the record. Holds no lock that a call can need.
  void serve() noexcept {
    try {
      while (serveOnce()) {
      }
    } catch (const std::exception& error) {
      logLine(LogLevel::kWarn, "the agreement of " + seat_.name + " ends: " + error.what());
      agreement_.abort();
    }
    logLine(LogLevel::kInfo, digestLine());
    lead([&] {
      leader_->step(nowNs());
      RecordBook::ofProcess().put(seat_.sessionId, leader_->record(), true);
      closeJournal(seat_.journalName());
    });
  }

  /// Equal on all ranks that have run the same calls.
  [[nodiscard]] std::string digestLine() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(agreement_.resolvedDigest()));
    return "configs of " + seat_.name + " on rank " + std::to_string(seat_.rank) + ": digest " +
           digits;
  }

  /// Before the first frame, so before any trial can be agreed.
  void openRecorder() noexcept {
    if (opened_ || !board_.ready()) return;
    opened_ = true;
    const std::string journal = journalPath(seat_.journalName());
    if (!journal.empty()) recorder_.open(flightPath(journal), seat_.rank);
  }

  bool serveOnce() {
    const int64_t now = nowNs();
    openRecorder();
    int64_t next = agreement_.step(now);
    lead([&] {
      leader_->step(now);
      next = std::min(next, now + kLeaderNapNs);
      board_.setSettledTasks(leader_->settledTasks());
      if (now - recordedNs_ < kRecordEveryNs) return;
      recordedNs_ = now;
      RecordBook::ofProcess().put(seat_.sessionId, leader_->record(), false);
    });
    noteEnd();
    if (samples_) moveSamples();
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock,
                   std::chrono::nanoseconds(std::max<int64_t>(next - nowNs(), kShortestNapNs)),
                   [this] { return stop_; });
    return !stop_;
  }

  /// Where tuning has stopped nothing more will settle; it is told once. Rank 0 speaks for all,
  /// rank 1 where rank 0 is what is missing.
  void noteEnd() {
    const auto why = agreement_.off();
    if (!why) return;
    board_.setSettledTasks(SampleBoard::kForGood);
    if (std::exchange(toldEnd_, true)) return;
    const bool speaks = seat_.rank == 0 || (seat_.rank == 1 && why->rfind("rank 0", 0) == 0);
    logLine(speaks ? LogLevel::kWarn : LogLevel::kInfo,
            "tuning of " + seat_.name + " is off: " + *why);
  }

  void moveSamples() {
    samples_->pump();
    if (hostsNoted_ || !agreement_.joined()) return;
    hostsNoted_ = true;
    noteHosts(samples_->hosts());
  }

  /// A fault in leading ends the search and leaves the agreement alone: tables stay as they are.
  template <class Work>
  void lead(Work work) noexcept {
    if (!leader_) return;
    try {
      work();
    } catch (const std::exception& error) {
      logLine(LogLevel::kWarn, "tuning of " + seat_.name + " stops: " + error.what());
      retired_ = std::move(leader_);
      leader_.reset();
      board_.setSettledTasks(SampleBoard::kForGood);
    }
  }

  Seat seat_;
  SessionMemory memory_;
  SampleBoard board_;
  SampleLinks* samples_ = nullptr;  // the agreement's links, where they are TCP
  Agreement agreement_;
  FlightRecorder recorder_;
  SessionGate gate_;
  std::unique_ptr<Leader> leader_;   // rank 0's
  std::unique_ptr<Leader> retired_;  // stopped by a fault; stepMark may still hold it
  Leader* marks_ = nullptr;          // whichever of the two there is, for stepMark
  int64_t recordedNs_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool opened_ = false;   // the flight recording
  bool toldEnd_ = false;  // that tuning is off
  bool hostsNoted_ = false;
  std::thread agent_;
};

size_t TuningSession::sharedBytes(int nRanks) {
  return SessionMemory::sharedBytes(nRanks);
}

std::unique_ptr<TuningSession> TuningSession::open(Seat seat) {
  return std::unique_ptr<TuningSession>(new TuningSession(std::make_unique<Impl>(std::move(seat))));
}

TuningSession::TuningSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TuningSession::~TuningSession() = default;

void TuningSession::stepMark() noexcept {
  impl_->stepMark();
}
bool TuningSession::settled() const noexcept {
  return impl_->settled();
}
void TuningSession::abort() noexcept {
  impl_->abort();
}

}  // namespace autoccl
