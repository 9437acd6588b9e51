// One communicator as the plugins know it: who is in it, what is decided for its calls, how they
// went. The one decide() behind every version of the tuner interface.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "edge/nccl/identity.h"
#include "edge/nccl/sampling.h"
#include "edge/nccl/space.h"
#include "edge/nccl/stamps.h"
#include "edge/nccl/task_book.h"
#include "model/gate.h"
#include "model/variant.h"

namespace autoccl {
class TuningSession;
}

namespace autoccl::nccl {

/// What NCCL asks a tuner.
struct Question {
  int func = -1;
  uint64_t nBytes = 0;
  int pipeOps = 1;
  PairSet possible = 0;
  const CostTable* costs = nullptr;  // null: this version shows none
};

/// What to answer. kLeave: touch nothing. kFail: a rank in doubt must not decide alone, so the call
/// has to fail (design, 5.4); the one case in which a plugin's answer is not success.
struct Answer {
  enum class Kind : uint8_t { kLeave, kForce, kFail };
  Kind kind = Kind::kLeave;
  Pair pair;
  int channels = 0;  // 0: NCCL's own number
};

/// What the event of one collective tells.
struct CollEvent {
  int func = -1;
  uint64_t count = 0;
  uint64_t element = 0;  // bytes
  int channels = 0;
  std::optional<Pair> ran;
};

/// How a communicator came to be known; what is not known stays at its default.
struct Origin {
  uint64_t commId = 0;
  int rank = -1;
  int nRanks = 0;
  int nNodes = 0;
  int tunerVersion = 0;
  int profilerVersion = 0;
  KnownCommunicator* known = nullptr;  // the interposer's
  bool variantsOnly = false;           // the release has no tuner: the interposer decides alone
};

/// Threads. decide and chunk: whoever issues calls, one at a time; collStarted: whoever launches;
/// stamped and timed: NCCL's or the interposer's thread; end and close: any, also while a call
/// waits at a fence.
/// The session is opened at the first call: by then the interposer, where there is one, knows whose
/// it is, and no rank has counted a call.
/// Cost. decide: one look-up of the task, the gate's take and resolve, one ring slot; no lock,
/// allocation, log or system call after a task's first call (comm_context_test.cc counts).
/// Errors. What keeps calls untouched is in why(); nothing throws.
class CommContext {
 public:
  CommContext(const Origin& origin, Sampling& sampling);
  ~CommContext();
  CommContext(const CommContext&) = delete;
  CommContext& operator=(const CommContext&) = delete;

  [[nodiscard]] const Origin& origin() const noexcept { return origin_; }
  /// The tuner's part of what the profiler began, or the reverse. Before any call.
  void learn(const Origin& more) noexcept;
  /// Ends waits at fences; later calls are untouched. Does not block.
  void end() noexcept;
  /// The same, and gives everything back but the memory that late events may still look at.
  void close() noexcept;
  /// Calls go through this gate from now on; null: none. Returns when no call is inside the old.
  void setGate(CallGate* gate) noexcept;

  // ---- HOT ----
  [[nodiscard]] Answer decide(const Question& question) noexcept;
  /// Decides a switchable call before it is made, for the interposer, which then runs it where
  /// callNote.asked says. False: the call has to fail. Where there is no session nothing is noted.
  [[nodiscard]] bool decideAhead(const Task& task) noexcept;
  /// The task of a switchable call where no tuner is asked (2.18).
  [[nodiscard]] Task taskWithoutTuner(Collective collective, uint64_t nBytes) noexcept;
  /// The chunk of a call decided before, in bytes; comes with NCCL's own (tuner v6).
  void chunk(int func, Pair pair, size_t* bytes) const noexcept;
  /// The handle for the event, null where nobody waits for it.
  void* collStarted(const CollEvent& event) noexcept;
  static void stopped(void* channel, uint64_t stopTimer) noexcept;
  /// From the interposer, where there are no stamps.
  void timed(const StreamTime& time) noexcept;
  /// The profiler says whether the calls that follow are captured into a graph.
  void setCapturing(bool yes) noexcept { capturing_.store(yes, std::memory_order_relaxed); }

  /// A variant of this communicator: its calls count here, and its samples go to the same session.
  void attach(Variant variant, CommContext& itsContext) noexcept;
  /// What this rank can run calls on beside its own communicator; all ranks have made them.
  void offer(VariantSet variants) noexcept { offered_.store(variants); }
  /// How the GPU engine extends a task's space, where all ranks have it; null: it has ended. Before
  /// any call is decided, or at the communicator's end.
  void offerEngine(std::function<void(Space&)> extend);
  /// What the record says of it.
  void tellOfEngine(const std::string& text) { engineText_ = text; }
  [[nodiscard]] bool canRun(const Config& config) const noexcept {
    if (onGpuEngine(config)) return hasEngine_.load();
    return config.extra == 0 || (offered_.load() & bitOf(static_cast<Variant>(config.extra))) != 0;
  }

  [[nodiscard]] Space spaceOf(const Task& task) const;
  /// "NCCL's own choice for allreduce 1M x8 is ring/simple, 16 channels", for tasks of the record.
  [[nodiscard]] std::string ownChoiceText(const Task& task) const;
  /// Why calls are untouched; static text, empty while they are tuned.
  [[nodiscard]] const char* why() const noexcept { return why_.load(std::memory_order_relaxed); }

 private:
  class Inside;
  void stamped(const StampedCall& call) noexcept;
  struct Decided {  // a call, when its config is known
    uint64_t index = 0;
    Config config;
    TaskStage stage{};
  };
  void watch(TaskMeasuring* task, const Decided& call) noexcept;
  [[nodiscard]] bool portrays(TaskMeasuring& task, const Decided& call, bool settled) noexcept;
  void setStamps(bool on) noexcept;
  /// Only the profiler's API events tell of graph capture.
  [[nodiscard]] bool hearsOfCapture() const noexcept {
    return origin_.known == nullptr && tellsOfCapture(origin_.profilerVersion);
  }
  void noteChunk(int func, Pair pair, uint32_t chunk) noexcept;
  void open(const CallNote& note) noexcept;
  [[nodiscard]] Answer broken() noexcept;
  [[nodiscard]] Answer answerDecided(const Question& question, const CallNote& note) noexcept;
  static void remember(const Task& task, const CallGate::Ticket& ticket,
                       const Config& config) noexcept;
  [[nodiscard]] bool isVariant() const noexcept {
    return origin_.known != nullptr && origin_.known->isVariant;
  }
  template <class Do>
  void forEachVariant(Do act) noexcept {
    for (auto& place : variants_)
      if (CommContext* variant = place.load()) act(*variant);
  }

  Origin origin_;
  Sampling& sampling_;
  TaskBook book_;
  StampJoin stamps_{this};
  std::atomic<KnownCommunicator*> known_{nullptr};  // until it ends: then another may have it
  std::unique_ptr<TuningSession> session_;
  std::atomic<CallGate*> gate_{nullptr};
  std::atomic<int> inside_{0};  // threads that may hold the gate
  std::atomic<bool> ended_{false};
  std::atomic<bool> capturing_{false};
  std::atomic<bool> told_{false};
  std::atomic<const char*> why_{"its communicator is not known yet"};
  std::atomic<int64_t> clockOffset_{0};                 // host minus GPU, ns; 0: not known yet
  std::array<std::atomic<uint64_t>, kFuncs> chunks_{};  // by function: pair and chunk
  uint64_t calls_ = 0;
  uint64_t stampedAt_ = 0;  // of calls_: the last one whose task wanted stamps
  int wantingTasks_ = 0;    // stamps, each since its last call
  bool opened_ = false;     // or tried to
  bool listens_ = false;    // for API events
  std::atomic<bool> stampsOn_{false};
  std::atomic<bool> hasEngine_{false};
  mutable std::mutex engineMutex_;  // never on a call's way
  std::function<void(Space&)> engine_;
  std::string engineText_;
  std::atomic<VariantSet> offered_{0};
  std::array<std::atomic<CommContext*>, kVariants> variants_{};
  std::atomic<CommContext*> base_{nullptr};  // of a variant: the user's communicator's
};

}  // namespace autoccl::nccl
