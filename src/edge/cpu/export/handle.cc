#include "handle.h"

#include "base/settings.h"
#include "edge/cpu/session_attach.h"

namespace autoccl {
namespace {

std::string& lastSentence() {
  thread_local std::string sentence;
  return sentence;
}

}  // namespace

acclResult_t resultOf(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kUsage:
      return acclInvalidArgument;
    case ErrorCode::kInput:
      return acclInvalidUsage;
    case ErrorCode::kSystem:
      return acclSystemError;
    case ErrorCode::kRemote:
      return acclRemoteError;
    case ErrorCode::kTimeout:
      return acclTimeout;
    case ErrorCode::kInternal:
      break;
  }
  return acclInternalError;
}

acclResult_t refuse(acclResult_t result, std::string sentence) noexcept {
  lastSentence() = std::move(sentence);
  return result;
}

acclResult_t usable(acclComm_t comm) noexcept {
  if (comm == nullptr) return refuse(acclInvalidArgument, "the communicator is NULL");
  switch (comm->state()) {
    case acclComm::State::kReady:
      return comm->engine().broken() ? refuse(comm->health(), comm->failureText()) : acclSuccess;
    case acclComm::State::kStarting:
      return refuse(
          acclInProgress,
          "the communicator is still starting; ask acclCommGetAsyncError until it is ready");
    case acclComm::State::kFailed:
      return refuse(comm->health(), comm->failureText());
    case acclComm::State::kFinalized:
      break;
  }
  return refuse(acclInvalidUsage, "the communicator is finalized");
}

Communicator::Options optionsFor(const UniqueId& id, int rank, int nRanks, const char* name) {
  static std::atomic<int> made{0};
  Communicator::Options options;
  options.id = id;
  options.rank = rank;
  options.nRanks = nRanks;
  options.name = name != nullptr ? name : "comm" + std::to_string(made.fetch_add(1));
  options.timeoutNs = static_cast<int64_t>(settingNumber("AUTOCCL_INIT_TIMEOUT") * 1e9);
  options.sharedAreaBytes = TuningSession::sharedBytes(nRanks);
  options.check = settingSwitch("AUTOCCL_CHECK");
  options.pinned = settingText("AUTOCCL_CONFIG");
  return options;
}

}  // namespace autoccl

acclComm::~acclComm() {
  close();
}

void acclComm::start(autoccl::Communicator::Options options) {
  rank = options.rank;
  nRanks = options.nRanks;
  starter_ = std::thread([this, options = std::move(options)] {
    State state = State::kFailed;
    autoccl::Failure failure;
    try {
      engine_ = std::make_unique<autoccl::Communicator>(options);
      tuning_ = autoccl::attachTuning(*engine_);
      state = State::kReady;
    } catch (const autoccl::Error& e) {
      failure = {e.code(), e.what()};
    } catch (const std::exception& e) {
      failure = {autoccl::ErrorCode::kSystem, e.what()};
    }
    const std::lock_guard lock(mutex_);
    startFailure_ = failure;
    state_.store(state, std::memory_order_release);
    started_.notify_all();
  });
}

acclResult_t acclComm::awaitStart() {
  std::unique_lock lock(mutex_);
  started_.wait(lock, [&] { return state() != State::kStarting; });
  if (starter_.joinable()) {
    lock.unlock();
    starter_.join();
  }
  return state() == State::kReady ? acclSuccess : autoccl::refuse(health(), failureText());
}

autoccl::Stream& acclComm::lane() {
  const std::lock_guard lock(mutex_);
  if (!lane_) lane_ = std::make_unique<autoccl::Stream>("accl-comm");
  return *lane_;
}

bool acclComm::laneIdle() const {
  const std::lock_guard lock(mutex_);
  return !lane_ || lane_->idle();
}

void acclComm::close() {
  if (starter_.joinable()) starter_.join();
  lane_.reset();
  tuning_.reset();
  engine_.reset();
}

acclResult_t acclComm::health() const {
  switch (state()) {
    case State::kStarting:
      return acclInProgress;
    case State::kFailed: {
      const std::lock_guard lock(mutex_);
      return autoccl::resultOf(startFailure_.code);
    }
    default:
      break;
  }
  if (!engine_ || !engine_->broken()) return acclSuccess;
  return autoccl::resultOf(engine_->failure().code);
}

std::string acclComm::failureText() const {
  if (state() == State::kFailed) {
    const std::lock_guard lock(mutex_);
    return startFailure_.text;
  }
  return engine_ ? engine_->failure().text : "";
}

extern "C" const char* acclGetLastError(acclComm_t comm) {
  thread_local std::string answer;
  try {
    if (comm != nullptr && comm->health() != acclSuccess && comm->health() != acclInProgress) {
      answer = comm->failureText();
      return answer.c_str();
    }
    answer = autoccl::lastSentence();
  } catch (...) {
    return "out of memory";
  }
  return answer.c_str();
}
