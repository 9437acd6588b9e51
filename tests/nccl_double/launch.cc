#include "tests/nccl_double/launch.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

using namespace nccl;

/// A collective of a plan and where its stamps go.
struct Run {
  CollTask task;
  size_t nBytes = 0;
  uint64_t seq = 0;
  std::vector<uint64_t> works;  // by channel, from task.first; empty: nobody wants stamps
};

/// What lies on a stream for one group. A captured plan lives as long as its communicator, since
/// graphs replay it; others go when they have run.
struct Plan {
  ncclComm* comm = nullptr;
  bool captured = false;
  std::vector<Run> runs;
  std::vector<Letter> letters;
  std::vector<uint8_t> state;
  void* groupApi = nullptr;
};

/// Share of the modelled time that a call really takes: NCCL_DOUBLE_PACE (1), 0 for none.
double pace() {
  static const double share = [] {
    const char* text = std::getenv("NCCL_DOUBLE_PACE");
    return text != nullptr ? std::atof(text) : 1.0;
  }();
  return share;
}

bool hangsOnMismatch() {
  static const bool hangs = [] {
    const char* text = std::getenv("NCCL_DOUBLE_MISMATCH");
    return text == nullptr || std::strcmp(text, "corrupt") != 0;
  }();
  return hangs;
}

/// The GPU's own timer: other GPUs have another zero; it steps by 32 ns.
uint64_t timerOf(const ncclComm& comm, int64_t ns) {
  return (static_cast<uint64_t>(ns) + 1'000'000'007U * static_cast<uint64_t>(comm.rank + 1)) / 32 *
         32;
}

/// Log-normal noise of 2 %, the same on all ranks for one call.
double noiseOf(uint64_t commHash, uint64_t call) {
  double sum = 0;
  for (uint64_t i = 0; i < 4; ++i) {
    const uint64_t words[] = {commHash, call, i};
    sum += static_cast<double>(hashOf(words, sizeof words) >> 11) * 0x1p-53 - 0.5;
  }
  return std::exp(0.02 * sum * std::sqrt(3.0));
}

uint64_t wordOf(std::initializer_list<uint64_t> fields) {
  return hashOf(fields.begin(), fields.size() * sizeof(uint64_t));
}

// ---- on the stream's thread ----

void waitUntil(const ncclComm& comm, int64_t ns) {
  while (nowNs() < ns && !comm.abortFlag) {
    const int64_t left = std::min<int64_t>(ns - nowNs(), 1'000'000);
    if (left <= 0) break;
    const timespec pause{0, left};
    nanosleep(&pause, nullptr);
  }
}

void spoil(const Call& call, size_t bytes) {
  auto* at = static_cast<unsigned char*>(call.recv);
  for (size_t i = 0; i < bytes; i += 4096) at[i] ^= 0x5a;
}

/// What happens to ranks that run different things: other algorithms, protocols or channels hang,
/// other chunks corrupt.
void punish(ncclComm& comm, const Run& run, uint64_t call) {
  const CallSlot& mine = comm.slot(comm.rank, call);
  bool hang = false, corrupt = run.task.corrupts;
  for (int r = 0; r < comm.nRanks; ++r) {
    const CallSlot& other = comm.slot(r, call);
    hang = hang || other.digest != mine.digest;
    corrupt = corrupt || other.chunkDigest != mine.chunkDigest;
  }
  if (!hang && !corrupt) return;
  comm.trace.event(hang ? "mismatch: ranks run different configs" : "mismatch: chunks differ");
  if (hang && hangsOnMismatch())
    while (!comm.abortFlag && !comm.engine->broken()) usleep(1000);
  else
    spoil(run.task.call, run.task.count * run.task.elementBytes);
}

/// Runs one collective; returns when its kernel would have ended (nowNs()), or 0 if it broke.
int64_t runColl(ncclComm& comm, const Run& run) {
  const uint64_t call = comm.calls++;
  const CollTask& t = run.task;
  CallSlot& mine = comm.slot(comm.rank, call);
  mine.digest = wordOf({static_cast<uint64_t>(t.func), static_cast<uint64_t>(t.algo),
                        static_cast<uint64_t>(t.proto), static_cast<uint64_t>(t.channels)});
  mine.chunkDigest = wordOf({t.chunk});
  mine.arrivedNs = nowNs();
  if (!comm.engine->execute(t.call, comm.engine->issue(t.call))) return 0;
  int64_t lastNs = 0;
  for (int r = 0; r < comm.nRanks; ++r) lastNs = std::max(lastNs, comm.slot(r, call).arrivedNs);
  punish(comm, run, call);
  const double us =
      trueUs(comm.machine, t.func, t.algo, t.proto, t.channels, t.warps, t.chunk, run.nBytes);
  return lastNs + static_cast<int64_t>(us * 1e3 * noiseOf(comm.commHash, call));
}

template <class Tell>
void tellChannels(const Plan& plan, const Tell& tell) {
  for (const Run& run : plan.runs)
    for (size_t i = 0; i < run.works.size(); ++i)
      tell(run.task.first + static_cast<int>(i), run.works[i]);
}

void fail(ncclComm& comm, ncclResult_t result) {
  int none = ncclSuccess;
  comm.asyncError.compare_exchange_strong(none, result);
}

/// The kernel: all of a plan's work lies between one start stamp and one stop stamp per channel.
void runKernel(Plan& plan) {
  ncclComm& comm = *plan.comm;
  const int64_t startNs = nowNs();
  tellChannels(plan, [&](int channel, uint64_t work) {
    comm.progress->started(channel, work, timerOf(comm, startNs));
  });
  int64_t endNs = startNs, modelledNs = startNs;
  for (const Run& run : plan.runs) {
    endNs = runColl(comm, run);
    if (endNs == 0) return fail(comm, ncclRemoteError);
    // The ranks' clocks are one here, so the model's times simply follow each other.
    modelledNs = std::max(modelledNs, endNs);
    waitUntil(comm, startNs + static_cast<int64_t>(static_cast<double>(endNs - startNs) * pace()));
  }
  tellChannels(plan, [&](int channel, uint64_t work) {
    comm.progress->stopped(channel, work, timerOf(comm, modelledNs));
  });
  if (plan.letters.empty()) return;
  std::fill(plan.state.begin(), plan.state.end(), uint8_t{0});
  if (!comm.engine->executeMail(plan.letters, plan.state, comm.engine->issueMail()))
    fail(comm, ncclRemoteError);
}

// ---- events around it ----

CollReport reportOf(const ncclComm& comm, const Run& run, void* group) {
  const CollTask& t = run.task;
  CollReport r;
  r.commName = comm.config.name.c_str();
  r.commHash = comm.commHash;
  r.seq = run.seq;
  r.func = nameOfFunc(t.func);
  r.funcNumber = t.func;
  r.send = t.call.send;
  r.recv = t.call.recv;
  r.count = t.count;
  r.root = t.call.root;
  r.dtype = nameOfType(t.dtype);
  r.dtypeNumber = t.dtype;
  r.trafficBytes = t.traffic;
  r.nMaxChannels = t.nMaxChannels;
  r.nChannels = t.channels;
  r.nWarps = t.warps;
  r.algo = nameOfAlgo(t.algo);
  r.proto = nameOfProto(t.proto);
  r.algoNumber = t.algo;
  r.protoNumber = t.proto;
  r.parentGroup = group;
  r.parentApi = t.collApi;
  return r;
}

constexpr int kUnderColl =
    kEventColl | kEventProxyOp | kEventProxyStep | kEventKernelCh | kEventNetPlugin;

/// Posts the plan's work to the proxy, and tells the profiler as NCCL does: Coll begins and ends
/// here, whatever the GPU does; KernelCh follows from the progress thread.
void postWork(Plan& plan) {
  ncclComm& comm = *plan.comm;
  int mask = 0;
  for (const Run& run : plan.runs) mask |= run.task.mask;
  for (Run& run : plan.runs) run.works.clear();
  if (comm.profiler == nullptr || (mask & (kUnderColl | kEventGroup)) == 0) return;
  void* group = comm.profiler->startGroup(comm.profilerContext, comm.rank);
  std::vector<void*> handles;
  for (Run& run : plan.runs) {
    if ((run.task.mask & kUnderColl) == 0) continue;
    void* coll =
        comm.profiler->startColl(comm.profilerContext, comm.rank, reportOf(comm, run, group));
    handles.push_back(coll);
    if (!comm.progress || (run.task.mask & kEventKernelCh) == 0) continue;
    for (int c = 0; c < run.task.channels; ++c) {
      const int channel = run.task.first + c;
      run.works.push_back(comm.progress->nextWork(channel));
      comm.progress->append(coll, channel, run.works.back());
    }
  }
  for (void* handle : handles) comm.profiler->stop(handle);
  comm.profiler->stop(group);
}

void runPlan(void* data) {
  auto* plan = static_cast<Plan*>(data);
  ncclComm& comm = *plan->comm;
  const bool keep = plan->captured;
  // In a graph the host's part runs with every replay, if anybody wants what follows from it.
  if (keep) {
    comm.underWay.fetch_add(1, std::memory_order_relaxed);
    const bool stamps = std::any_of(plan->runs.begin(), plan->runs.end(), [](const Run& run) {
      return (run.task.mask & kEventKernelCh) != 0;
    });
    if (stamps) postWork(*plan);
  }
  if (!comm.abortFlag && !comm.engine->broken())
    runKernel(*plan);
  else
    fail(comm, ncclRemoteError);
  if (!keep) delete plan;
  comm.underWay.fetch_sub(1, std::memory_order_release);
}

/// Work of one communicator keeps its order over streams.
void orderStreams(ncclComm& comm, cudaStream_t stream, bool captured) {
  if (captured) return;
  if (comm.launched && comm.lastStream != stream) {
    cuda().eventRecord(comm.orderEvent, comm.lastStream);
    cuda().streamWaitEvent(stream, comm.orderEvent, 0);
  }
  comm.launched = true;
  comm.lastStream = stream;
}

}  // namespace

bool capturing(cudaStream_t stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return cuda().streamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

const char* nameOfType(ncclDataType_t type) {
  // NCCL has no name for uint8.
  static constexpr const char* kNames[] = {"ncclInt8",     "Unknown",        "ncclInt32",
                                           "ncclUint32",   "ncclInt64",      "ncclUint64",
                                           "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                           "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return type >= 0 && type <= ncclFloat8e5m2 ? kNames[type] : "Unknown";
}

ncclResult_t launchAll(ncclComm& comm) {
  if (comm.tasks.empty() && comm.letters.empty()) return ncclSuccess;
  auto plan = std::make_unique<Plan>();
  cudaStream_t stream = comm.tasks.empty() ? comm.letterStreams.front() : comm.tasks.front().stream;
  plan->comm = &comm;
  plan->captured = capturing(stream);
  for (CollTask& task : comm.tasks) {
    const bool gathers = task.func == kFuncAllGather || task.func == kFuncReduceScatter;
    Run run;
    run.nBytes = task.count * task.elementBytes * (gathers ? static_cast<size_t>(comm.nRanks) : 1);
    run.seq = comm.sequence[task.func]++;
    run.task = std::move(task);
    comm.trace.call(run.task);
    if (comm.rank == 0)
      say(Level::kInfo, kSubTuning, "%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={%d..%d}",
          nameOfFunc(run.task.func), run.task.count * run.task.elementBytes,
          nameOfAlgo(run.task.algo), nameOfProto(run.task.proto), run.task.first,
          run.task.first + run.task.channels - 1);
    plan->groupApi = run.task.groupApi;
    plan->runs.push_back(std::move(run));
  }
  plan->letters = std::move(comm.letters);
  plan->state.resize(plan->letters.size());
  comm.tasks.clear();
  comm.letters.clear();
  comm.letterStreams.clear();
  orderStreams(comm, stream, plan->captured);
  void* launch = nullptr;
  const bool tells = comm.profiler != nullptr && !plan->runs.empty();
  if (tells && (plan->runs.front().task.mask & kEventKernelLaunch) != 0)
    launch = comm.profiler->startLaunch(comm.profilerContext, comm.rank, plan->groupApi, stream);
  if (!plan->captured) {
    postWork(*plan);
    comm.underWay.fetch_add(1, std::memory_order_relaxed);
  } else if (tells && (plan->runs.front().task.mask & kEventKernelCh) == 0) {
    postWork(*plan);  // once, at capture
  }
  Plan* launched = plan.release();
  if (launched->captured) comm.captured.push_back(std::shared_ptr<Plan>(launched));
  const CUresult put = cuda().launchHostFunc(stream, runPlan, launched);
  if (launch != nullptr) comm.profiler->stop(launch);
  return put == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t launchAlone(ncclComm& comm, const Call& call, cudaStream_t stream) {
  struct Alone {
    ncclComm* comm;
    Call call;
  };
  comm.underWay.fetch_add(1, std::memory_order_relaxed);
  orderStreams(comm, stream, capturing(stream));
  const CUresult put = cuda().launchHostFunc(
      stream,
      [](void* data) {
        auto* alone = static_cast<Alone*>(data);
        ncclComm& c = *alone->comm;
        if (!c.engine->execute(alone->call, c.engine->issue(alone->call)))
          fail(c, ncclInternalError);
        delete alone;
        c.underWay.fetch_sub(1, std::memory_order_release);
      },
      new Alone{&comm, call});
  return put == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

}  // namespace autoccl::nccl_double
