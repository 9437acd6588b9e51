// What the profiler is told, when and by whom.
#include <unistd.h>

#include <set>

#include "edge/nccl/abi/profiler_events.h"
#include "tests/nccl_double/conformance/rank.h"
#include "tests/nccl_double/release.h"

namespace autoccl::conformance {
namespace {

using namespace nccl;
using nccl_double::releaseOf;
using testing::driver;

constexpr size_t kSize = 1 << 20;

void collAtPosting(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const testing::Event* coll = r.lastColl();
  if (coll == nullptr) return r.expect(false, "no Coll event");
  r.expect(coll->thread == thisThread() && coll->stopThread == thisThread(),
           "Coll begins and ends on the caller's thread");
  r.expect(coll->stopped, "and has ended when the call returns");
  r.expect(coll->rank == r.rank(), "rank %d", coll->rank);
  if (coll->interface >= 2)
    r.expect(std::string(coll->func) == "AllReduce" && std::string(coll->dtype) == "ncclFloat32",
             "%s of %s", coll->func, coll->dtype);
  r.expect(coll->count == kSize / 4, "count %llu", static_cast<unsigned long long>(coll->count));
  r.finish();
}

void countedInBytes(Rank& r) {
  r.begin();
  r.nccl().AllGather(r.memory(), r.memory(32 << 20), 1000, ncclFloat32, r.comm(), r.stream());
  r.synchronize();
  const testing::Event* coll = r.lastColl();
  if (coll == nullptr) return r.expect(false, "no Coll event");
  r.expect(coll->count == 4000 && std::string(coll->dtype) == "ncclInt8", "count %llu of %s",
           static_cast<unsigned long long>(coll->count), coll->dtype);
  r.finish();
}

void sequence(Rank& r) {
  r.begin();
  const auto bcast = [&] {
    r.nccl().Broadcast(r.memory(), r.memory(), 1024, ncclFloat32, 0, r.comm(), r.stream());
    r.synchronize();
    return r.lastColl() != nullptr ? r.lastColl()->seq : ~0ULL;
  };
  r.allReduce(kSize);
  const uint64_t first = r.lastColl() != nullptr ? r.lastColl()->seq : ~0ULL;
  const uint64_t firstBcast = bcast();
  r.allReduce(kSize);
  const uint64_t second = r.lastColl()->seq;
  r.expect(first == 0 && second == 1, "AllReduce %llu, then %llu",
           static_cast<unsigned long long>(first), static_cast<unsigned long long>(second));
  r.expect(firstBcast == 0, "Broadcast %llu", static_cast<unsigned long long>(firstBcast));
  r.finish();
}

void kernelEvents(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const testing::Event* coll = r.lastColl();
  if (coll == nullptr) return r.expect(false, "no Coll event");
  r.expect(r.awaitKernels(static_cast<size_t>(coll->channels)), "one KernelCh for each of %d",
           coll->channels);
  const auto kernels = r.events(kEventKernelCh);
  r.expect(kernels.size() == static_cast<size_t>(coll->channels), "%zu events, %d channels",
           kernels.size(), coll->channels);
  std::set<int> channels;
  for (const auto* kernel : kernels) {
    channels.insert(kernel->channel);
    r.expect(kernel->thread != thisThread(), "from another thread");
    r.expect(kernel->parent == coll, "under its Coll");
  }
  r.expect(channels.size() == kernels.size(), "each on a channel of its own");
  r.finish();
}

void stamps(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const testing::Event* coll = r.lastColl();
  if (coll == nullptr || !r.awaitKernels(static_cast<size_t>(coll->channels)))
    return r.expect(false, "no KernelCh events");
  for (const auto* kernel : r.events(kEventKernelCh)) {
    const uint64_t start = kernel->startStamp, stop = kernel->stopStamp;
    r.expect(start > 0 && stop > start && stop - start < 10'000'000'000ULL, "%llu ns long",
             static_cast<unsigned long long>(stop - start));
  }
  r.finish();
}

void maskFollowed(Rank& r) {
  r.recorder().wanted = 0;
  r.begin();
  r.allReduce(kSize);
  r.expect(r.recorder().nEvents == 0, "mask 0: %d events", r.recorder().nEvents.load());
  __atomic_store_n(r.recorder().mask, static_cast<int>(kEventColl | kEventKernelCh),
                   __ATOMIC_RELAXED);
  r.allReduce(kSize);
  const size_t colls = r.events(kEventColl).size();
  r.expect(colls == 1, "mask set: %zu Coll events", colls);
  (void)r.awaitKernels(1);
  usleep(100000);
  __atomic_store_n(r.recorder().mask, 0, __ATOMIC_RELAXED);
  r.allReduce(kSize);
  r.expect(r.events(kEventColl).size() == colls, "mask cleared: no more");
  r.finish();
}

void parentsStarted(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  r.expect(!r.events(kEventGroup).empty(), "Group is started for Coll|KernelCh");
  if (r.recorder().profilerInits[0].interface >= 5)
    r.expect(!r.events(kEventGroupApi).empty() && !r.events(kEventCollApi).empty(),
             "so are GroupApi and CollApi");
  r.finish();
}

void nullHandles(Rank& r) {
  r.recorder().nullHandles = true;
  r.begin();
  const ncclResult_t result = r.allReduce(kSize);
  usleep(200000);
  r.expect(result == ncclSuccess, "the call answers %d", result);
  r.finish();
}

void groupTogether(Rank& r) {
  r.begin();
  r.nccl().GroupStart();
  for (int i = 0; i < 3; ++i)
    r.nccl().AllReduce(r.memory(static_cast<size_t>(i) << 20),
                       r.memory(static_cast<size_t>(i) << 20), 1024, ncclFloat32, ncclSum, r.comm(),
                       r.stream());
  r.nccl().GroupEnd();
  r.synchronize();
  const auto colls = r.events(kEventColl);
  r.expect(colls.size() == 3, "%zu Coll events for three calls in one aggregate", colls.size());
  bool alike = true;
  for (const auto* coll : colls)
    alike = alike && std::string(coll->algo) == colls[0]->algo &&
            std::string(coll->proto) == colls[0]->proto;
  r.expect(alike, "with one algorithm and protocol");
  r.finish();
}

/// Captures one AllReduce and replays it three times.
void captureAndReplay(Rank& r, int& questions, size_t& collsAtCapture, size_t& collsAfter) {
  const auto must = testing::must;
  const int before = r.questions();
  const size_t colls = r.events(kEventColl).size();
  must(driver().cuStreamBeginCapture_v2(r.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
       "capture");
  r.nccl().AllReduce(r.memory(), r.memory(), kSize / 4, ncclFloat32, ncclSum, r.comm(), r.stream());
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  must(driver().cuStreamEndCapture(r.stream(), &graph), "end of capture");
  must(driver().cuGraphInstantiateWithFlags(&exec, graph, 0), "graph");
  collsAtCapture = r.events(kEventColl).size() - colls;
  for (int i = 0; i < 3; ++i) must(driver().cuGraphLaunch(exec, r.stream()), "launch");
  r.synchronize();
  usleep(300000);
  questions = r.questions() - before;
  collsAfter = r.events(kEventColl).size() - colls;
  must(driver().cuGraphExecDestroy(exec), "graph");
  must(driver().cuGraphDestroy(graph), "graph");
}

void captured(Rank& r) {
  r.begin();
  r.allReduce(kSize);  // connects before the capture
  int questions = 0;
  size_t atCapture = 0, after = 0;
  captureAndReplay(r, questions, atCapture, after);
  r.expect(questions == 1, "%d questions for a capture and three replays", questions);
  r.expect(r.question().registered == 1 || r.question().interface < 4, "regBuff in a capture: %d",
           r.question().registered);
  r.note("Coll events: %zu at capture, %zu after three replays", atCapture, after);
  r.expect(after == 3, "with KernelCh on, each replay tells its Coll: %zu after three", after);
  r.finish();
}

void capturedSilent(Rank& r) {
  r.recorder().wanted = kEventColl;
  r.begin();
  r.allReduce(kSize);
  int questions = 0;
  size_t atCapture = 0, after = 0;
  captureAndReplay(r, questions, atCapture, after);
  // Over a network there is proxy work in the graph, so each replay passes the host.
  r.note("Coll events: %zu at capture, %zu after three replays", atCapture, after);
  r.expect(after == 1 || after == 3, "%zu Coll events after three replays", after);
  r.finish();
}

}  // namespace

std::vector<Case> eventCases() {
  return {
      {.id = "coll-posting",
       .sentence = "Coll begins and ends on the caller's thread while the work is posted",
       .run = collAtPosting,
       .ranks = 2,
       .since = 22300},
      {.id = "coll-bytes",
       .sentence = "AllGather and Broadcast are counted in bytes of ncclInt8",
       .run = countedInBytes,
       .ranks = 2,
       .since = 22400},
      {.id = "coll-seq",
       .sentence = "seq counts from 0 for each function of a communicator",
       .run = sequence,
       .ranks = 2,
       .since = 22700},
      {.id = "coll-group",
       .sentence = "An aggregate gives one Coll for each call, with one pair",
       .run = groupTogether,
       .ranks = 2,
       .since = 22400},
      {.id = "parents",
       .sentence = "Asking for Coll and KernelCh starts their parents too",
       .run = parentsStarted,
       .ranks = 2,
       .since = 22600},
      {.id = "kernels",
       .sentence = "KernelCh comes once a channel, from another thread, under its Coll",
       .run = kernelEvents,
       .ranks = 2,
       .since = 22700},
      {.id = "stamps",
       .sentence = "KernelCh carries start < stop of the GPU's timer in ns (2.27+)",
       .run = stamps,
       .ranks = 2,
       .since = 22700},
      {.id = "mask",
       .sentence = "The mask's word is read again at every call",
       .run = maskFollowed,
       .ranks = 2,
       .since = 22600},
      {.id = "null-handles",
       .sentence = "A profiler may answer every event with a NULL handle",
       .run = nullHandles,
       .ranks = 2,
       .since = 22300},
      {.id = "capture",
       .sentence =
           "A capture asks once, with regBuff 1; with KernelCh on, each replay tells a Coll",
       .run = captured,
       .ranks = 2,
       .since = 22700},
      {.id = "capture-silent",
       .sentence = "Without KernelCh a captured call tells its Coll at capture",
       .run = capturedSilent,
       .ranks = 2,
       .since = 22700},
  };
}

}  // namespace autoccl::conformance
