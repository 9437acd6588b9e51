#include "tests/nccl_double/group.h"

#include <algorithm>
#include <utility>

#include "tests/nccl_double/choose.h"
#include "tests/nccl_double/launch.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

struct Start {
  ncclComm_t* handle = nullptr;
  ncclComm* comm = nullptr;
  Birth birth;
};

/// What a group has gathered; moved to a thread where nobody waits.
struct Group {
  std::vector<Start> starts;
  std::vector<ncclComm*> comms;
  ncclComm* apiComm = nullptr;
  ApiEvents api;
};

thread_local int depth = 0;
thread_local ncclResult_t error = ncclSuccess;
thread_local Group group;

ncclResult_t runStarts(std::vector<Start>& starts) {
  if (starts.empty()) return ncclSuccess;
  std::vector<ncclResult_t> results(starts.size(), ncclSuccess);
  if (starts.size() == 1 && release().initInCaller) {
    results[0] = startComm(*starts[0].comm, starts[0].birth);
  } else {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < starts.size(); ++i)
      threads.emplace_back(
          [&results, &start = starts[i], i] { results[i] = startComm(*start.comm, start.birth); });
    for (std::thread& thread : threads) thread.join();
  }
  ncclResult_t worst = ncclSuccess;
  for (size_t i = 0; i < starts.size(); ++i) {
    Start& start = starts[i];
    if (results[i] != ncclSuccess) worst = results[i];
    if (!start.comm->config.blocking) {
      start.comm->asyncError = results[i];
    } else if (results[i] == ncclSuccess) {
      *start.handle = start.comm;
    } else {
      delete start.comm;
      *start.handle = nullptr;
    }
  }
  return worst;
}

void forget(ncclComm& comm) {
  comm.tasks.clear();
  comm.letters.clear();
  comm.letterStreams.clear();
}

ncclResult_t runComms(const std::vector<ncclComm*>& comms, ncclSimInfo_t* simulation) {
  ncclResult_t result = ncclSuccess;
  for (ncclComm* comm : comms) {
    if (result != ncclSuccess) break;
    const OnDevice here(comm->device);
    const bool captured = !comm->tasks.empty() && capturing(comm->tasks.front().stream);
    result = chooseAll(*comm, captured, simulation != nullptr,
                       simulation != nullptr ? &simulation->estimatedTime : nullptr);
  }
  for (ncclComm* comm : comms) {
    if (result == ncclSuccess && simulation == nullptr) {
      const OnDevice here(comm->device);
      result = launchAll(*comm);
    }
    forget(*comm);
  }
  return result;
}

ncclResult_t runGroup(Group& g, ncclSimInfo_t* simulation) {
  const ncclResult_t started = runStarts(g.starts);
  return started != ncclSuccess ? started : runComms(g.comms, simulation);
}

bool waitsForIt(const Group& g) {
  return std::all_of(g.starts.begin(), g.starts.end(),
                     [](const Start& s) { return s.comm->config.blocking; }) &&
         std::all_of(g.comms.begin(), g.comms.end(),
                     [](const ncclComm* c) { return c->config.blocking; });
}

/// The job belongs to the group's first communicator, which joins it before its next and its end.
ncclResult_t runLater(Group g) {
  ncclComm* owner = !g.starts.empty() ? g.starts.front().comm : g.comms.front();
  for (Start& start : g.starts) {
    start.comm->asyncError = ncclInProgress;
    *start.handle = start.comm;
  }
  for (ncclComm* comm : g.comms) comm->asyncError = ncclInProgress;
  if (owner->job.joinable()) owner->job.join();
  owner->job = std::thread([g = std::move(g)]() mutable {
    const ncclResult_t result = runGroup(g, nullptr);
    for (ncclComm* comm : g.comms) comm->asyncError = result;
  });
  return ncclInProgress;
}

void stopApi(Group& g) {
  if (g.apiComm != nullptr && g.apiComm->profiler != nullptr)
    g.apiComm->profiler->stop(g.api.groupApi);
  g.apiComm = nullptr;
  g.api = {};
}

void dropAll(Group& g) {
  for (ncclComm* comm : g.comms) forget(*comm);
  for (Start& start : g.starts) delete start.comm;
}

}  // namespace

void groupOpen() noexcept {
  ++depth;
}

ncclResult_t groupError(ncclResult_t result) noexcept {
  if (depth > 0 && result != ncclSuccess && result != ncclInProgress) error = result;
  return result;
}

void groupJoin(ncclComm& comm) {
  if (std::find(group.comms.begin(), group.comms.end(), &comm) == group.comms.end())
    group.comms.push_back(&comm);
}

void groupAddStart(ncclComm_t* handle, std::unique_ptr<ncclComm> comm, Birth birth) {
  group.starts.push_back({handle, comm.release(), std::move(birth)});
}

ApiEvents apiEvents(ncclComm& comm, bool captured) {
  if (comm.profiler == nullptr) return {};
  constexpr int kAny = nccl::kEventGroupApi | nccl::kEventP2pApi | nccl::kEventCollApi |
                       nccl::kEventKernelLaunch | nccl::kEventGroup | nccl::kEventColl |
                       nccl::kEventP2p | nccl::kEventProxyOp | nccl::kEventProxyStep |
                       nccl::kEventKernelCh | nccl::kEventNetPlugin;
  const int mask = profilerMask();
  if (group.apiComm == nullptr && (mask & kAny) != 0) {
    group.apiComm = &comm;
    group.api.groupApi = comm.profiler->startGroupApi(comm.profilerContext, comm.rank, captured);
  }
  return {mask, group.api.groupApi};
}

ncclResult_t groupClose(ncclSimInfo_t* simulation) {
  if (depth == 0) {
    warn("ncclGroupEnd without ncclGroupStart");
    return ncclInvalidUsage;
  }
  if (--depth > 0) return ncclSuccess;
  Group g = std::exchange(group, {});
  ncclResult_t result = std::exchange(error, ncclSuccess);
  if (result == ncclSuccess && simulation != nullptr && simulation->magic != 0x74685283) {
    warn("the simulation's info was not made with NCCL_SIM_INFO_INITIALIZER");
    result = ncclInvalidArgument;
  }
  Group api{{}, {}, g.apiComm, g.api};
  if (result != ncclSuccess)
    dropAll(g);
  else if (!g.starts.empty() || !g.comms.empty())
    result =
        simulation != nullptr || waitsForIt(g) ? runGroup(g, simulation) : runLater(std::move(g));
  stopApi(api);
  return result;
}

}  // namespace autoccl::nccl_double
