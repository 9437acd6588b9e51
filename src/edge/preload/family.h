// A communicator of the program's and those that we have made beside it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "edge/nccl/comm_context.h"
#include "edge/preload/comm_book.h"
#include "edge/preload/driver.h"
#include "edge/preload/gpu_engine.h"
#include "edge/preload/private_library.h"

namespace autoccl::preload {

struct CallFacts;
struct Watcher;

/// One variant: a communicator of the same ranks.
struct Member {
  std::atomic<Comm> comm{nullptr};    // null: none, or ended
  PrivateLibrary* library = nullptr;  // null: the program's own
  nccl::KnownCommunicator known;
};

/// What a call is to the tuner, by what the program has said of it: learned at its first call, when
/// NCCL asks. At most kCalls kinds; those beyond stay on the program's communicator.
class KnownCalls {
 public:
  struct Kind {
    Collective collective{};
    int dtype = 0;
    int op = 0;
    size_t count = 0;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  [[nodiscard]] const Task* find(const Kind& kind) const noexcept;
  void learn(const Kind& kind, const Task& task) noexcept;

 private:
  static constexpr size_t kCalls = 256;
  static constexpr size_t kProbes = 16;
  struct Place {
    bool used = false;
    Kind kind;
    Task task;
  };
  [[nodiscard]] static size_t placeOf(const Kind& kind) noexcept;

  std::array<Place, kCalls> places_{};
};

/// The GPU engine, where AUTOCCL_DIRECT asks for it, is one more place for calls to go.
/// Order. A communicator's calls run one after the other, whatever their streams: NCCL sees to it.
/// Its variants are other communicators to NCCL, so the order between them is ours: calls on one
/// stream have it from the stream; a call on another stream than the last one's waits for an event
/// that was recorded after that one.
/// Threads. The hot members belong to whoever issues the communicator's calls, one at a time; comm
/// of a member may be ended by any. Lives for good, since late calls may look.
struct Family {
  nccl::CommContext* context = nullptr;
  bool asksTuner = true;  // false: the release has none, and tasks are named here
  std::array<Member, kVariants> members{};
  KnownCalls calls;
  Driver::Event last = nullptr;  // after the last call
  Stream lastStream = nullptr;
  uint8_t lastVariant = 0;
  bool called = false;
  std::atomic<GpuEngine*> gpus{nullptr};
  std::atomic<int> onGpus{0};  // threads that may hold it

  /// Of the program's communicator and its variants, the first error that is not success.
  [[nodiscard]] int asyncError() noexcept;
};

inline constexpr uint8_t kOnGpus = 255;

/// Where a call goes.
struct Route {
  Comm comm = nullptr;
  PrivateLibrary* library = nullptr;
  Family* family = nullptr;  // null: it is no switchable call
  uint8_t variant = 0;       // kOnGpus: the GPU engine's
  bool onGpus = false;
  bool refused = false;    // a rank in doubt: the call has to fail
  KnownCalls::Kind learn;  // with `unknown`
  bool unknown = false;
};

/// A call that is alone (in no group, not captured), on a blocking communicator, with an operation
/// of NCCL's own can go to a variant; whatever cannot goes to the program's communicator and is a
/// task of its own. The first such call of a communicator makes the variants. HOT but for that.
[[nodiscard]] Route routeOf(Watcher& watcher, CommEntry& entry, const CallFacts& facts) noexcept;
/// Runs a call whose route is onGpus; nothing where it is NCCL's after all. HOT.
[[nodiscard]] std::optional<int> runOnGpus(const Route& route, const CallFacts& facts) noexcept;
/// After the call. HOT.
void afterRouted(const Route& route, Stream stream, int result) noexcept;

/// Makes what the ranks agree on; see variant_maker.h. Null where calls of it are never switched.
[[nodiscard]] Family* makeFamily(CommEntry& entry) noexcept;
/// Finalize, Destroy, Abort and Revoke of the program's communicator, to its variants first.
void endFamily(CommEntry& entry, Symbol symbol) noexcept;

}  // namespace autoccl::preload
