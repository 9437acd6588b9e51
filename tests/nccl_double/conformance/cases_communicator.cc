// Communicators, symbols, and what goes wrong.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "edge/nccl/abi/profiler_events.h"
#include "tests/nccl_double/conformance/rank.h"
#include "tests/nccl_double/release.h"

namespace autoccl::conformance {

/// Calls of ncclBroadcast that came to this program's own definition of it.
std::atomic<int> broadcastsSeen{0};
std::atomic<ncclResult_t (*)(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t,
                             cudaStream_t)>
    broadcastTarget{nullptr};

namespace {

using namespace nccl;

constexpr size_t kSize = 1 << 20;

ncclResult_t settle(Rank& r, ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (int i = 0; i < 60000 && state == ncclInProgress; ++i) {
    if (r.nccl().CommGetAsyncError(comm, &state) != ncclSuccess) break;
    usleep(1000);
  }
  return state;
}

void nonBlocking(Rank& r) {
  Config config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclResult_t begun = r.start(&comm, &config);
  r.expect(begun == ncclInProgress || begun == ncclSuccess, "init answers %d", begun);
  r.expect(comm != nullptr, "the handle is there at once");
  r.expect(settle(r, comm) == ncclSuccess, "and becomes ready");
  const ncclResult_t called =
      r.nccl().AllReduce(r.memory(), r.memory(), kSize / 4, ncclFloat32, ncclSum, comm, r.stream());
  r.expect(called == ncclInProgress || called == ncclSuccess, "a call answers %d", called);
  r.expect(settle(r, comm) == ncclSuccess, "and is launched");
  r.synchronize();
  r.expect(r.question().thread != thisThread(), "the tuner is asked on another thread");
  r.nccl().CommFinalize(comm);
  (void)settle(r, comm);
  r.nccl().CommDestroy(comm);
}

void splitChild(Rank& r) {
  r.begin();
  ncclComm_t child = nullptr;
  const ncclResult_t result = r.nccl().CommSplit(r.comm(), 0, r.rank(), &child, nullptr);
  r.expect(result == ncclSuccess && child != nullptr, "split answers %d", result);
  r.expect(r.recorder().nTunerInits == 2, "%d inits of the tuner", r.recorder().nTunerInits.load());
  const testing::Init &parent = r.recorder().profilerInits[0],
                      &made = r.recorder().profilerInits[1];
  if (parent.interface >= 4)
    r.expect(made.commId != parent.commId, "the child has an id of its own");
  r.nccl().AllReduce(r.memory(), r.memory(), 1024, ncclFloat32, ncclSum, child, r.stream());
  r.synchronize();
  r.expect(r.question().context == &r.recorder().tunerInits[1], "asked with the child's context");
  r.nccl().CommDestroy(child);
  r.finish();
}

void splitOut(Rank& r) {
  r.begin();
  ncclComm_t child = r.comm();
  const int color = r.rank() == 0 ? 0 : NCCL_SPLIT_NOCOLOR;
  const ncclResult_t result = r.nccl().CommSplit(r.comm(), color, 0, &child, nullptr);
  r.expect(result == ncclSuccess, "split answers %d", result);
  r.expect((child != nullptr) == (r.rank() == 0), "a communicator only for the colored");
  r.finish();
}

void shrinkOne(Rank& r) {
  r.begin();
  if (r.rank() == 1) {
    usleep(1'000'000);
    return r.note("left out");
  }
  int out[] = {1};
  ncclComm_t rest = nullptr;
  const ncclResult_t result =
      r.nccl().CommShrink(r.comm(), out, 1, &rest, nullptr, NCCL_SHRINK_DEFAULT);
  int n = 0;
  r.expect(result == ncclSuccess, "shrink answers %d", result);
  if (result != ncclSuccess) return;
  r.nccl().CommCount(rest, &n);
  r.expect(n == r.size() - 1, "%d ranks are left", n);
}

void sameGpu(Rank& r) {
  int devices = 0;
  (void)testing::driver().cuDeviceGetCount(&devices);
  testing::useDevice(0);
  ncclComm_t comm = nullptr;
  const ncclResult_t result = r.start(&comm);
  r.expect(result == ncclInvalidUsage, "two ranks of one host on one GPU: init answers %d", result);
}

void reentry(Rank& r) {
  broadcastTarget =
      reinterpret_cast<decltype(broadcastTarget.load())>(dlsym(r.nccl().handle, "pncclBroadcast"));
  const auto bcast =
      reinterpret_cast<decltype(r.nccl().Bcast)>(dlsym(r.nccl().handle, "pncclBcast"));
  if (broadcastTarget == nullptr || bcast == nullptr)
    return r.expect(false, "the strong names are missing");
  r.begin();
  const int before = broadcastsSeen;
  bcast(r.memory(), 1024, ncclFloat32, 0, r.comm(), r.stream());
  r.synchronize();
  r.expect(broadcastsSeen - before == 1, "pncclBcast came through ncclBroadcast %d times",
           broadcastsSeen - before);
  r.finish();
}

void bothNames(Rank& r) {
  for (const char* name : {"GetVersion", "GetUniqueId", "CommInitRank", "CommInitRankConfig",
                           "CommInitAll", "CommSplit", "CommFinalize", "CommDestroy", "CommAbort",
                           "CommGetAsyncError", "AllReduce", "AllGather", "ReduceScatter",
                           "Broadcast", "Reduce", "Send", "Recv", "GroupStart", "GroupEnd"}) {
    const bool weak = dlsym(r.nccl().handle, (std::string("nccl") + name).c_str()) != nullptr;
    const bool strong = dlsym(r.nccl().handle, (std::string("pnccl") + name).c_str()) != nullptr;
    r.expect(weak && strong, "nccl%s %d, pnccl%s %d", name, weak, name, strong);
  }
}

void idHoldsAddress(Rank& r) {
  ncclUniqueId id{};
  r.expect(r.nccl().GetUniqueId(&id) == ncclSuccess, "an id");
  uint16_t family = 0;
  std::memcpy(&family, id.internal + 8, sizeof family);
  r.expect(family == 2 || family == 10, "address family %d at byte 8", family);
}

void wrongRoot(Rank& r) {
  r.begin();
  const int before = r.questions();
  const ncclResult_t result = r.nccl().Broadcast(r.memory(), r.memory(), 1024, ncclFloat32,
                                                 r.size() + 3, r.comm(), r.stream());
  r.expect(result == ncclInvalidArgument, "a wrong root: answer %d", result);
  r.expect(r.questions() == before, "and no question");
  r.expect(r.allReduce(kSize) == ncclSuccess, "the communicator goes on");
  r.finish();
}

void finalizedContexts(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  r.finish();
  r.expect(r.recorder().nFinalized == 1, "%d contexts finalized", r.recorder().nFinalized.load());
}

void efficiency(Rank& r) {
  Config config = NCCL_CONFIG_INITIALIZER;
  config.CTAPolicy = NCCL_CTA_POLICY_EFFICIENCY;
  r.begin(&config);
  r.expect(r.allReduce(kSize) == ncclSuccess, "a loaded tuner is asked under EFFICIENCY too");
  r.expect(r.questions() == 1, "%d questions", r.questions());
  r.finish();
}

// ---- what is punished ----

void impossibleEntry(Rank& r) {
  r.begin();
  r.recorder().algo = kAlgoCollnetDirect;
  r.recorder().proto = kProtoSimple;
  r.recorder().reckless = true;
  const ncclResult_t result = r.allReduce(kSize);
  r.expect(false, "it answered %d and ran %s", result, r.pairRun().c_str());
}

void smallChunk(Rank& r) {
  r.begin();
  r.recorder().algo = kAlgoRing;
  r.recorder().proto = kProtoSimple;
  r.recorder().chunk = 100;
  const ncclResult_t result = r.allReduce(kSize);
  r.expect(false, "it answered %d", result);
}

void noChannels(Rank& r) {
  r.begin();
  r.recorder().algo = kAlgoRing;
  r.recorder().proto = kProtoSimple;
  r.recorder().channels = 256;
  const ncclResult_t result = r.allReduce(kSize);
  r.expect(false, "it answered %d", result);
}

void differentPairs(Rank& r) {
  r.begin();
  r.recorder().algo = r.rank() == 0 ? kAlgoRing : kAlgoTree;
  r.recorder().proto = kProtoSimple;
  const ncclResult_t result = r.allReduce(kSize);
  r.expect(false, "it answered %d and ended", result);
}

}  // namespace

std::vector<Case> communicatorCases() {
  return {
      {.id = "non-blocking",
       .sentence = "A non-blocking communicator answers at once; its tuner runs on another thread",
       .run = nonBlocking,
       .ranks = 2,
       .since = 22200},
      {.id = "split",
       .sentence = "A split has a context and an id of its own",
       .run = splitChild,
       .ranks = 2,
       .since = 22200},
      {.id = "split-out",
       .sentence = "A rank without a color gets no communicator",
       .run = splitOut,
       .ranks = 2,
       .since = 21900},
      {.id = "shrink",
       .sentence = "ncclCommShrink leaves the named ranks out (2.27+)",
       .run = shrinkOne,
       .ranks = 3,
       .since = 22700},
      {.id = "same-gpu",
       .sentence = "Two ranks of one host on one GPU are refused",
       .run = sameGpu,
       .ranks = 2,
       .oneHost = true},
      {.id = "reentry",
       .sentence = "pncclBcast calls ncclBroadcast by its weak, public name",
       .run = reentry,
       .ranks = 2,
       .since = 21900},
      {.id = "both-names",
       .sentence = "Every function exists as ncclX and as pncclX",
       .run = bothNames,
       .ranks = 1},
      {.id = "unique-id",
       .sentence = "A unique id is a random word and a socket's address",
       .run = idHoldsAddress,
       .ranks = 1},
      {.id = "wrong-root",
       .sentence = "A wrong argument fails the call before any question",
       .run = wrongRoot,
       .ranks = 2,
       .since = 21900},
      {.id = "finalized",
       .sentence = "Destroying a communicator finalizes the tuner's context",
       .run = finalizedContexts,
       .ranks = 2,
       .since = 21900},
      {.id = "efficiency",
       .sentence = "CTAPolicy EFFICIENCY does not keep the tuner from being asked",
       .run = efficiency,
       .ranks = 2,
       .since = 22700},
  };
}

std::vector<Case> harmCases() {
  return {
      {.id = "harm-entry",
       .sentence = "An impossible pair (COLLNET_DIRECT) that is forced crashes",
       .run = impossibleEntry,
       .ranks = 2,
       .since = 22200,
       .end = End::kBySignal},
      {.id = "harm-chunk",
       .sentence = "A chunk below the grain raises SIGFPE",
       .run = smallChunk,
       .ranks = 2,
       .since = 23003,
       .end = End::kBySignal},
      {.id = "harm-channels",
       .sentence = "256 channels are 0 in the 8 bits that keep them, and divide by zero",
       .run = noChannels,
       .ranks = 2,
       .since = 22200,
       .until = 23101,
       .end = End::kBySignal},
      {.id = "harm-mismatch",
       .sentence = "Ranks that run different algorithms hang",
       .run = differentPairs,
       .ranks = 2,
       .since = 22200,
       .end = End::kHangs},
  };
}

}  // namespace autoccl::conformance

/// This program's ncclBroadcast stands before the library's, as an interposer's would.
extern "C" __attribute__((visibility("default"))) ncclResult_t ncclBroadcast(
    const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
    cudaStream_t stream) {
  ++autoccl::conformance::broadcastsSeen;
  const auto target = autoccl::conformance::broadcastTarget.load();
  return target != nullptr ? target(send, recv, count, type, root, comm, stream)
                           : ncclInternalError;
}
