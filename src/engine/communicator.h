// The CPU engine's communicator: a group of ranks on one host and the way their calls run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/call.h"
#include "engine/config_rules.h"
#include "engine/flight.h"
#include "engine/layout.h"
#include "engine/mail.h"
#include "engine/result_check.h"
#include "engine/wires.h"
#include "engine/worker_pool.h"
#include "model/gate.h"
#include "model/space.h"
#include "transport/liveness.h"
#include "transport/rendezvous.h"

namespace autoccl {

/// What broke a communicator.
struct Failure {
  ErrorCode code = ErrorCode::kInternal;
  std::string text;
};

/// One rank's end of a communicator. Ranks are processes or threads.
///
/// A call is first issued (in the order of the program: index, config, turn), then executed, on
/// whichever thread; execution keeps the order of issue. Every call begins with an exchange of
/// entries: who I am, what I call, where my buffers are and of which kind. The path in effect is a
/// pure function of the config and of all entries, so all ranks take the same one: registered
/// memory is reduced in place by claimed tiles; else the kernel copies (cma); else the segment does
/// (staged).
///
/// Thread-compatible per call; abort and failure may come from any thread. HOT: issue and execute
/// of a call that has been seen before allocate nothing and take no lock; they make system calls
/// only to wait, to wake a sleeper and for cma's copies. Errors of set-up are thrown; an error at
/// run time breaks the communicator on all ranks and is told by failure().
class Communicator {
 public:
  struct Options {
    UniqueId id;
    int rank = 0;
    int nRanks = 1;
    std::string name;  // for logs and reports
    int64_t timeoutNs = 60'000'000'000;
    size_t sharedAreaBytes = 0;  // for the layers above: see sharedArea
    bool check = false;          // check mode; the same on all ranks
    std::string pinned;          // a config for all calls that can run it; empty: none
  };
  /// A call's place in the order of issue and what was decided for it.
  struct Issue {
    uint64_t turn = 0;
    Task task;
    CallGate::Ticket ticket;
    bool gated = false;
    Config config;  // where no gate decides
  };

  /// Blocks until all ranks have come. Throws Error.
  explicit Communicator(const Options& options);
  /// Waits for the calls issued so far; a call that would wait for ever needs abort first.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const noexcept { return options_.rank; }
  [[nodiscard]] int size() const noexcept { return options_.nRanks; }
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] uint64_t session() const noexcept { return segment_->session; }
  [[nodiscard]] const std::array<uint8_t, 16>& key() const noexcept { return segment_->key; }
  /// Memory of Options::sharedAreaBytes that all ranks share, zero at the start.
  [[nodiscard]] std::span<std::byte> sharedArea() const noexcept;
  /// Hash of what this engine can do: equal on ranks that can work together.
  [[nodiscard]] uint64_t digest() const noexcept;

  /// Who decides configs from the next issue on; null: the default. At the same call on all ranks.
  void setGate(CallGate* gate) noexcept { gate_ = gate; }
  /// Pins a config for later calls, or gives the choice back. Throws Error for an impossible one.
  void pin(const std::optional<Config>& config);
  [[nodiscard]] Config lastConfig() const noexcept;
  [[nodiscard]] Space spaceFor(const Task& task) const;
  [[nodiscard]] Config defaultFor(const Task& task) const noexcept;

  [[nodiscard]] Issue issue(const Call& call) noexcept;
  /// False: the communicator is broken; the call's buffers hold anything.
  bool execute(const Call& call, const Issue& issue) noexcept;

  /// Sends and receives, issued in the same order as calls but without a config to decide; all of
  /// one call progress together. `state` has one byte per letter, all 0.
  [[nodiscard]] Issue issueMail() noexcept;
  bool executeMail(std::span<const Letter> letters, std::span<uint8_t> state,
                   const Issue& issue) noexcept;

  /// A call that no gate sees and that enters no task: for the layers above, e.g. split.
  [[nodiscard]] Issue issueUntuned(const Call& call) noexcept;

  /// Ends every call under way on all ranks with an error.
  void abort() noexcept;
  [[nodiscard]] bool broken() const noexcept;
  [[nodiscard]] Failure failure() const;

 private:
  void meet();
  void probeCma();
  void countCpus();
  void readLimits();
  [[nodiscard]] Task taskOf(const Call& call) noexcept;
  /// How a call went here.
  struct Ran {
    bool done = false;
    Config effect;
    int64_t arrivedNs = 0, lastArrivalNs = 0, finishedNs = 0;
  };
  bool runCall(const Call& call, const Issue& issue) noexcept;
  [[nodiscard]] Ran carryOut(const Call& call, const Config& asked) noexcept;
  /// Check mode: a config's first call runs twice, the second time as the default does.
  bool runChecked(const Call& call, const Issue& issue, const Config& asked) noexcept;
  void tell(const Issue& issue, const Config& asked, const Ran& ran, bool failed) noexcept;
  void board(const Call& call, const Config& config) noexcept;
  bool enter(const Call& call, bool small, bool needsKinds) noexcept;
  void tellKinds(const Call& call, Entry& mine) const noexcept;
  bool checkEntries() noexcept;
  [[nodiscard]] Config inEffect(bool asksZero) noexcept;
  bool reach(bool pulled) noexcept;
  [[nodiscard]] std::byte* peerPointer(int rank, uint32_t region, uint64_t address) noexcept;
  bool travel(const Config& config) noexcept;
  void awaitTurn(const Issue& issue) noexcept;
  void passTurn(const Issue& issue) noexcept;
  bool deliver(std::span<const Letter> letters, std::span<uint8_t> state) noexcept;
  [[nodiscard]] WaitRules rulesFor(WaitPolicy policy) noexcept;
  static bool stillAlive(void* self) noexcept;
  static bool mailPeersAlive(void* self) noexcept;
  void breakWith(ErrorCode code, const std::string& text) noexcept;
  void explainBreak() noexcept;
  void quarantine() noexcept;

  Options options_;
  Layout layout_;
  std::shared_ptr<Segment> segment_;
  Liveness liveness_;
  Mapping scratch_;
  std::vector<uint64_t> tileScratch_;
  WorkerPool pool_;
  Host host_;
  Mail mail_;
  uint64_t mailPeers_ = 0;  // ranks with letters under way, one bit each
  Flight flight_;
  std::unique_ptr<Plans> plans_;
  bool sameProcess_ = true;    // all ranks are threads of this process
  bool ordinaryLast_ = false;  // the last zero-copy call found ordinary memory, on all ranks alike

  CallGate* gate_ = nullptr;
  std::optional<Config> pinned_;
  std::unique_ptr<ResultCheck> check_;
  std::atomic_flag issuing_;
  uint64_t issued_ = 0;
  std::array<uint64_t, 64> exactSizes_{};
  int nExact_ = 0;
  std::atomic<uint64_t> turn_{0};
  uint32_t calls_ = 0;
  Config lastConfig_;
  Config askedLast_, clampedLast_;
  /// Peers' regions seen lately, by rank and region id.
  struct Seen {
    uint32_t id = 0;
    std::shared_ptr<const PeerRegion> region;
  };
  static constexpr size_t kSeen = 64;
  std::vector<std::array<Seen, kSeen>> seen_;

  mutable std::mutex failureMutex_;
  std::optional<Failure> failure_;
};

}  // namespace autoccl
