// What an acclComm_t points to, and how errors cross the C interface.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "autoccl/autoccl.h"
#include "base/error.h"
#include "edge/session/session.h"
#include "engine/communicator.h"
#include "engine/stream.h"

/// A communicator as the program holds it: it starts in a thread of its own where the program does
/// not want to wait, and it has a lane, a thread that runs calls the caller must not wait for.
struct acclComm {
  enum class State { kStarting, kReady, kFailed, kFinalized };

  bool blocking = true;
  int rank = 0, nRanks = 1;

  acclComm() = default;
  ~acclComm();
  acclComm(const acclComm&) = delete;
  acclComm& operator=(const acclComm&) = delete;

  /// Starts joining in a thread.
  void start(autoccl::Communicator::Options options);
  /// Waits for the end of the start.
  acclResult_t awaitStart();
  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  void setFinalized() noexcept { state_.store(State::kFinalized, std::memory_order_release); }

  /// Valid from kReady on.
  [[nodiscard]] autoccl::Communicator& engine() const noexcept { return *engine_; }
  /// Null where tuning is off.
  [[nodiscard]] autoccl::TuningSession* tuning() const noexcept { return tuning_.get(); }
  /// The thread of work that nobody waits for; started at its first use.
  autoccl::Stream& lane();
  [[nodiscard]] bool laneIdle() const;
  /// Ends all threads and gives the communicator's memory back.
  void close();

  /// What broke it, as a result; acclSuccess while it is whole.
  [[nodiscard]] acclResult_t health() const;
  [[nodiscard]] std::string failureText() const;

  /// Factors of acclRedOpCreatePreMulSum by op - kFirstScaledOp; an empty place is free.
  static constexpr int kFirstScaledOp = 16;
  struct ScaledOp {
    bool used = false;
    double factor = 1;             // immediate
    const void* device = nullptr;  // or read at each call
    acclDataType_t datatype = acclFloat32;
  };
  std::vector<ScaledOp> scaledOps;
  std::mutex scaledMutex;
  int splits = 0;  // made so far; alike on all ranks

 private:
  std::atomic<State> state_{State::kStarting};
  std::unique_ptr<autoccl::Communicator> engine_;
  std::unique_ptr<autoccl::TuningSession> tuning_;  // uses the engine: goes before it
  std::unique_ptr<autoccl::Stream> lane_;
  mutable std::mutex mutex_;
  std::condition_variable started_;
  std::thread starter_;
  autoccl::Failure startFailure_;
};

struct acclStream {
  autoccl::Stream stream{"accl-stream"};
};

struct acclEvent {
  autoccl::Event* event = autoccl::Event::make();
};

namespace autoccl {

[[nodiscard]] acclResult_t resultOf(ErrorCode code) noexcept;
/// Keeps the sentence for acclGetLastError and returns the result.
acclResult_t refuse(acclResult_t result, std::string sentence) noexcept;

/// Runs the body of an exported function: nothing is thrown across the interface.
template <class Body>
acclResult_t guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const Error& e) {
    return refuse(resultOf(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return refuse(acclSystemError, "out of memory");
  } catch (const std::exception& e) {
    return refuse(acclSystemError, e.what());
  } catch (...) {
    return refuse(acclInternalError, "unknown exception");
  }
}

/// acclSuccess if calls may be made on it, else the reason.
[[nodiscard]] acclResult_t usable(acclComm_t comm) noexcept;

/// Options from the environment for a communicator of this place.
[[nodiscard]] Communicator::Options optionsFor(const UniqueId& id, int rank, int nRanks,
                                               const char* name);

/// True between acclGroupStart and acclGroupEnd; such a start is waited for at the group's end.
[[nodiscard]] bool groupOpen() noexcept;
void groupAddStart(acclComm_t comm);

}  // namespace autoccl
