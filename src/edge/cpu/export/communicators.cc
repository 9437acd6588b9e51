// Communicators of the C interface: start, split, end, questions.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "edge/cpu/job_environment.h"
#include "handle.h"

namespace autoccl {
namespace {

void needs(bool condition, const char* what, const char* allowed) {
  if (!condition) throw Error(ErrorCode::kUsage, what, std::string("allowed: ") + allowed);
}

UniqueId toId(const acclUniqueId& id) {
  UniqueId unique;
  std::memcpy(unique.bytes.data(), id.internal, UniqueId::kBytes);
  return unique;
}
static_assert(UniqueId::kBytes == ACCL_UNIQUE_ID_BYTES);

/// Starts a communicator and, unless told otherwise, waits for it. On failure *comm stays NULL.
acclResult_t start(acclComm_t* comm, const Communicator::Options& options, bool blocking) {
  auto handle = std::make_unique<acclComm>();
  handle->blocking = blocking;
  handle->start(options);
  if (groupOpen()) {
    *comm = handle.release();
    groupAddStart(*comm);
    return acclSuccess;
  }
  if (!blocking) {
    *comm = handle.release();
    return acclInProgress;
  }
  const acclResult_t result = handle->awaitStart();
  if (result == acclSuccess) *comm = handle.release();
  return result;
}

bool blockingOf(const acclConfig_t* config) {
  return config == nullptr || config->blocking != 0;
}
const char* nameOf(const acclConfig_t* config) {
  return config != nullptr ? config->name : nullptr;
}

/// Colors and keys of all ranks, by an AllGather that no tuner sees.
std::vector<std::pair<int, int>> gatherColors(acclComm_t comm, int color, int key) {
  std::vector<std::pair<int, int>> all(static_cast<size_t>(comm->nRanks));
  const std::pair<int, int> mine{color, key};
  Call call;
  call.collective = Collective::kAllGather;
  call.send = &mine;
  call.recv = all.data();
  call.count = sizeof mine;
  Communicator& engine = comm->engine();
  if (!engine.execute(call, engine.issueUntuned(call))) {
    const Failure failure = engine.failure();
    throw Error(failure.code, failure.text);
  }
  return all;
}

acclResult_t split(acclComm_t parent, int color, int key, acclComm_t* comm,
                   const acclConfig_t* config) {
  const auto all = gatherColors(parent, color, key);
  const int number = parent->splits++;
  *comm = nullptr;
  if (color == ACCL_SPLIT_NOCOLOR) return acclSuccess;
  int rank = 0, nRanks = 0;
  for (int r = 0; r < parent->nRanks; ++r) {
    const auto [c, k] = all[static_cast<size_t>(r)];
    if (c != color) continue;
    ++nRanks;
    rank += k < key || (k == key && r < parent->rank);
  }
  char token[64];
  std::snprintf(token, sizeof token, "split-%016llx-%d-%d",
                static_cast<unsigned long long>(parent->engine().session()), number, color);
  return start(comm, optionsFor(uniqueIdFrom(token), rank, nRanks, nameOf(config)),
               blockingOf(config));
}

}  // namespace

}  // namespace autoccl

using namespace autoccl;

extern "C" {

acclResult_t acclGetVersion(int* version) {
  return guarded([&] {
    needs(version != nullptr, "version is NULL", "an address");
    *version = ACCL_VERSION_CODE;
    return acclSuccess;
  });
}

const char* acclGetErrorString(acclResult_t result) {
  switch (result) {
    case acclSuccess:
      return "no error";
    case acclSystemError:
      return "a system call failed";
    case acclInternalError:
      return "internal error";
    case acclInvalidArgument:
      return "invalid argument";
    case acclInvalidUsage:
      return "invalid usage";
    case acclRemoteError:
      return "another rank died or failed";
    case acclInProgress:
      return "still in progress";
    case acclTimeout:
      return "a rank did not come in time";
  }
  return "unknown result";
}

acclResult_t acclGetUniqueId(acclUniqueId* id) {
  return guarded([&] {
    needs(id != nullptr, "id is NULL", "an address");
    const UniqueId unique = newUniqueId();
    std::memcpy(id->internal, unique.bytes.data(), UniqueId::kBytes);
    return acclSuccess;
  });
}

acclResult_t acclCommInitRankConfig(acclComm_t* comm, int nRanks, acclUniqueId id, int rank,
                                    const acclConfig_t* config) {
  return guarded([&] {
    needs(comm != nullptr, "comm is NULL", "an address");
    *comm = nullptr;
    needs(nRanks >= 1 && nRanks <= kMaxRanks, "nRanks is out of range", "1 to 64 on one host");
    needs(rank >= 0 && rank < nRanks, "rank is out of range", "0 to nRanks-1");
    checkUniqueId(toId(id));
    return start(comm, optionsFor(toId(id), rank, nRanks, nameOf(config)), blockingOf(config));
  });
}

acclResult_t acclCommInitRank(acclComm_t* comm, int nRanks, acclUniqueId id, int rank) {
  return acclCommInitRankConfig(comm, nRanks, id, rank, nullptr);
}

acclResult_t acclCommInitAll(acclComm_t* comms, int nRanks) {
  return guarded([&] {
    needs(comms != nullptr, "comms is NULL", "an array of nRanks communicators");
    needs(nRanks >= 1 && nRanks <= kMaxRanks, "nRanks is out of range", "1 to 64 on one host");
    const UniqueId id = newUniqueId();
    std::vector<std::unique_ptr<acclComm>> all;
    for (int r = 0; r < nRanks; ++r) {
      all.push_back(std::make_unique<acclComm>());
      all.back()->start(optionsFor(id, r, nRanks, nullptr));
    }
    acclResult_t result = acclSuccess;
    for (const auto& comm : all)
      if (const acclResult_t started = comm->awaitStart(); started != acclSuccess) result = started;
    for (int r = 0; r < nRanks; ++r)
      comms[r] = result == acclSuccess ? all[static_cast<size_t>(r)].release() : nullptr;
    return result;
  });
}

acclResult_t acclCommInitFromEnv(acclComm_t* comm) {
  return guarded([&] {
    needs(comm != nullptr, "comm is NULL", "an address");
    *comm = nullptr;
    static std::atomic<int> made{0};
    const JobPlace place =
        jobPlace([](const char* name) -> const char* { return std::getenv(name); });
    return start(
        comm, optionsFor(idOf(place, made.fetch_add(1)), place.rank, place.nRanks, nullptr), true);
  });
}

acclResult_t acclCommSplit(acclComm_t comm, int color, int key, acclComm_t* newComm,
                           const acclConfig_t* config) {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    needs(newComm != nullptr, "newComm is NULL", "an address");
    needs(color >= ACCL_SPLIT_NOCOLOR, "color is negative", "0 or more, or ACCL_SPLIT_NOCOLOR");
    return split(comm, color, key, newComm, config);
  });
}

acclResult_t acclCommFinalize(acclComm_t comm) {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    if (!comm->laneIdle()) comm->lane().synchronize();
    Call barrier;
    barrier.collective = Collective::kBarrier;
    const bool done = comm->engine().execute(barrier, comm->engine().issueUntuned(barrier));
    comm->setFinalized();
    return done ? acclSuccess : refuse(comm->health(), comm->failureText());
  });
}

acclResult_t acclCommDestroy(acclComm_t comm) {
  return guarded([&] {
    delete comm;
    return acclSuccess;
  });
}

acclResult_t acclCommAbort(acclComm_t comm) {
  return guarded([&] {
    needs(comm != nullptr, "the communicator is NULL", "a communicator");
    if (comm->state() == acclComm::State::kStarting) (void)comm->awaitStart();
    if (comm->tuning() != nullptr) comm->tuning()->abort();
    if (comm->state() == acclComm::State::kReady) comm->engine().abort();
    return acclSuccess;
  });
}

acclResult_t acclCommGetAsyncError(acclComm_t comm, acclResult_t* asyncError) {
  return guarded([&] {
    needs(comm != nullptr && asyncError != nullptr, "an argument is NULL",
          "a communicator and an address");
    *asyncError = comm->health();
    if (*asyncError == acclSuccess && !comm->blocking && !comm->laneIdle())
      *asyncError = acclInProgress;
    return acclSuccess;
  });
}

acclResult_t acclCommCount(acclComm_t comm, int* count) {
  return guarded([&] {
    needs(comm != nullptr && count != nullptr, "an argument is NULL",
          "a communicator and an address");
    *count = comm->nRanks;
    return acclSuccess;
  });
}

acclResult_t acclCommUserRank(acclComm_t comm, int* rank) {
  return guarded([&] {
    needs(comm != nullptr && rank != nullptr, "an argument is NULL",
          "a communicator and an address");
    *rank = comm->rank;
    return acclSuccess;
  });
}

}  // extern "C"
