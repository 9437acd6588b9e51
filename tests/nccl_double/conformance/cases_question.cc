// When the tuner is asked, and what about.
#include "edge/nccl/abi/common.h"
#include "tests/nccl_double/conformance/rank.h"
#include "tests/nccl_double/release.h"

namespace autoccl::conformance {
namespace {

using namespace nccl;
using nccl_double::releaseOf;

constexpr size_t kSize = 1 << 20;
constexpr size_t kCount = kSize / sizeof(float);

void askedOnce(Rank& r) {
  r.begin();
  const int before = r.questions();
  r.allReduce(kSize);
  r.expect(r.questions() - before == 1, "%d questions for one AllReduce", r.questions() - before);
  r.expect(r.question().thread == thisThread(), "asked on the caller's thread");
  r.expect(r.question().func == kFuncAllReduce, "func %d", r.question().func);
  CUdevice device = -1;
  (void)testing::driver().cuCtxGetDevice(&device);
  r.expect(r.question().device == device, "device %d is current", r.question().device);
  r.finish();
}

void bytesAsked(Rank& r) {
  r.begin();
  const auto n = static_cast<size_t>(r.size());
  const auto asked = [&](const char* what, size_t bytes) {
    r.synchronize();
    r.expect(r.question().nBytes == bytes, "%s: %zu bytes, expected %zu", what, r.question().nBytes,
             bytes);
  };
  void *send = r.memory(), *recv = r.memory(32 << 20);
  r.nccl().AllReduce(send, recv, kCount, ncclFloat32, ncclSum, r.comm(), r.stream());
  asked("AllReduce", kSize);
  r.nccl().AllGather(send, recv, kCount, ncclFloat32, r.comm(), r.stream());
  asked("AllGather", kSize * n);
  r.nccl().ReduceScatter(send, recv, kCount, ncclFloat32, ncclSum, r.comm(), r.stream());
  asked("ReduceScatter", kSize * n);
  r.nccl().Broadcast(send, recv, kCount, ncclFloat32, 0, r.comm(), r.stream());
  asked("Broadcast", kSize);
  r.nccl().Reduce(send, recv, kCount, ncclFloat32, ncclSum, 0, r.comm(), r.stream());
  asked("Reduce", kSize);
  r.finish();
}

void tableShape(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const int rows = releaseOf(r.version()).algorithms;
  r.expect(r.question().nAlgos == rows && r.question().nProtos == 3, "table of %d x %d",
           r.question().nAlgos, r.question().nProtos);
  r.expect(r.question().channelsIn == 0, "channels come as %d", r.question().channelsIn);
  r.finish();
}

/// Valid entries may only be among those listed.
void onlyThese(Rank& r, const char* what, std::initializer_list<int> algos, int rows) {
  const testing::Question& q = r.question();
  int outside = 0, valid = 0;
  for (int a = 0; a < rows; ++a)
    for (int p = 0; p < kProtos; ++p) {
      if (q.table[a][p] < 0) continue;
      ++valid;
      bool listed = false;
      for (const int algo : algos) listed = listed || algo == a;
      const bool simpleOnly = a != kAlgoTree && a != kAlgoRing;
      outside += listed && (!simpleOnly || p == kProtoSimple) ? 0 : 1;
    }
  r.expect(valid > 0 && outside == 0, "%s: %d valid entries, %d that should not be", what, valid,
           outside);
}

void validEntries(Rank& r) {
  r.begin();
  void *send = r.memory(), *recv = r.memory(32 << 20);
  const int rows = releaseOf(r.version()).algorithms;
  r.allReduce(kSize);
  onlyThese(r, "AllReduce",
            {kAlgoTree, kAlgoRing, kAlgoNvls, kAlgoNvlsTree, kAlgoCollnetDirect, kAlgoCollnetChain},
            rows);
  const std::initializer_list<int> gathers = {kAlgoRing, kAlgoNvls, kAlgoPat, kAlgoCollnetDirect};
  r.nccl().AllGather(send, recv, kCount, ncclFloat32, r.comm(), r.stream());
  r.synchronize();
  onlyThese(r, "AllGather", gathers, rows);
  r.nccl().ReduceScatter(send, recv, kCount, ncclFloat32, ncclSum, r.comm(), r.stream());
  r.synchronize();
  onlyThese(r, "ReduceScatter", gathers, rows);
  r.nccl().Broadcast(send, recv, kCount, ncclFloat32, 0, r.comm(), r.stream());
  r.synchronize();
  onlyThese(r, "Broadcast", {kAlgoRing}, rows);
  r.nccl().Reduce(send, recv, kCount, ncclFloat32, ncclSum, 0, r.comm(), r.stream());
  r.synchronize();
  onlyThese(r, "Reduce", {kAlgoRing}, rows);
  r.finish();
}

void aggregates(Rank& r) {
  r.begin();
  const auto group = [&](const char* what, std::initializer_list<size_t> counts,
                         std::initializer_list<ncclDataType_t> types, int questions, size_t bytes) {
    const int before = r.questions();
    r.nccl().GroupStart();
    size_t offset = 0;
    for (const ncclDataType_t type : types)
      for (const size_t count : counts) {
        r.nccl().AllReduce(r.memory(offset), r.memory(offset), count, type, ncclSum, r.comm(),
                           r.stream());
        offset += 4 << 20;
      }
    r.nccl().GroupEnd();
    r.synchronize();
    r.expect(r.questions() - before == questions, "%s: %d questions, expected %d", what,
             r.questions() - before, questions);
    r.expect(bytes == 0 || r.question().nBytes == bytes, "%s: %zu bytes in the last question", what,
             r.question().nBytes);
  };
  group("three alike", {1000, 1000, 1000}, {ncclFloat32}, 1, 12000);
  group("within four times", {1000, 3000}, {ncclFloat32}, 1, 16000);
  group("eight times apart", {1000, 8000}, {ncclFloat32}, 2, 32000);
  group("four times apart", {1000, 4000}, {ncclFloat32}, 2, 16000);
  group("two types", {1000}, {ncclFloat32, ncclInt32}, 2, 0);
  r.finish();
}

void pipeOps(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  r.expect(r.question().pipeOps == 1, "%d for a call alone", r.question().pipeOps);
  constexpr int kMany = 96;
  r.nccl().GroupStart();
  for (int i = 0; i < kMany; ++i)
    r.nccl().AllReduce(r.memory(static_cast<size_t>(i) << 16),
                       r.memory(static_cast<size_t>(i) << 16), 1024, ncclFloat32, ncclSum, r.comm(),
                       r.stream());
  r.nccl().GroupEnd();
  r.synchronize();
  const int pipe = r.question().pipeOps;
  r.note("%d collectives in a group: pipeOps %d", kMany, pipe);
  r.expect(pipe > 1 && pipe <= kMany, "%d collectives in a group: pipeOps %d", kMany, pipe);
  r.finish();
}

void notAsked(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const int before = r.questions();
  r.nccl().AllReduce(r.memory(), r.memory(), 0, ncclFloat32, ncclSum, r.comm(), r.stream());
  r.synchronize();
  r.expect(r.questions() == before, "count 0");
  const int peer = 1 - r.rank();
  r.nccl().GroupStart();
  r.nccl().Send(r.memory(), 1024, ncclFloat32, peer, r.comm(), r.stream());
  r.nccl().Recv(r.memory(32 << 20), 1024, ncclFloat32, peer, r.comm(), r.stream());
  r.nccl().GroupEnd();
  r.synchronize();
  r.expect(r.questions() == before, "send and receive");
  if (r.nccl().AlltoAll != nullptr && r.version() >= 22800) {
    r.nccl().AlltoAll(r.memory(), r.memory(32 << 20), 1024, ncclFloat32, r.comm(), r.stream());
    r.synchronize();
    r.expect(r.questions() == before, "AlltoAll");
  }
  r.finish();
}

void aloneNotAsked(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  r.expect(r.questions() == 0, "%d questions for a communicator of one rank", r.questions());
  r.finish();
}

void simulated(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const int before = r.questions();
  const size_t colls = r.events(2).size();
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  info.version = static_cast<unsigned>(r.version());
  r.nccl().GroupStart();
  r.nccl().AllReduce(r.memory(), r.memory(), kCount, ncclFloat32, ncclSum, r.comm(), r.stream());
  const ncclResult_t result = r.nccl().GroupSimulateEnd(&info);
  r.synchronize();
  r.expect(result == ncclSuccess, "ncclGroupSimulateEnd answers %d", result);
  r.expect(r.questions() - before == 1, "%d questions", r.questions() - before);
  r.expect(r.events(2).size() == colls, "nothing is run");
  r.expect(info.estimatedTime > 0, "the estimate is %g us",
           static_cast<double>(info.estimatedTime));
  r.finish();
}

void registeredArrives(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  r.expect(r.question().registered == 0, "ordinary memory: %d", r.question().registered);
  void* handle = nullptr;
  if (r.nccl().CommRegister(r.comm(), r.memory(), Rank::kMemory, &handle) != ncclSuccess ||
      handle == nullptr)
    return r.notTestable("the memory could not be registered");
  r.allReduce(kSize);
  r.expect(r.question().registered == 1, "registered memory: %d", r.question().registered);
  r.nccl().CommDeregister(r.comm(), handle);
  r.finish();
}

}  // namespace

std::vector<Case> questionCases() {
  return {
      {.id = "asked-once",
       .sentence = "A call outside a group is one question, on the caller's thread and device",
       .run = askedOnce,
       .ranks = 2,
       .since = 21900},
      {.id = "bytes",
       .sentence = "nBytes is the element size times the larger of all sent and all received",
       .run = bytesAsked,
       .ranks = 2,
       .since = 21900},
      {.id = "table-shape",
       .sentence = "The table has 7 rows (6 before 2.23) and 3 columns; channels come as 0",
       .run = tableShape,
       .ranks = 2,
       .since = 22200},
      {.id = "valid-entries",
       .sentence = "Entries >= 0 are only: AllReduce TREE, RING, NVLS*, COLLNET*; AllGather and "
                   "ReduceScatter RING, NVLS, PAT, COLLNET_DIRECT; Broadcast and Reduce RING",
       .run = validEntries,
       .ranks = 2,
       .since = 22200},
      {.id = "aggregates",
       .sentence = "A group's calls of one function, operator and type within 4x are one question",
       .run = aggregates,
       .ranks = 2,
       .since = 22200},
      {.id = "pipe-ops",
       .sentence = "pipeOps grows with the group's collectives over the channels",
       .run = pipeOps,
       .ranks = 2,
       .since = 22200},
      {.id = "not-asked",
       .sentence = "Count 0, Send/Recv and AlltoAll ask nothing",
       .run = notAsked,
       .ranks = 2,
       .since = 21900},
      {.id = "alone",
       .sentence = "A communicator of one rank asks nothing",
       .run = aloneNotAsked,
       .ranks = 1,
       .since = 21900},
      {.id = "simulated",
       .sentence = "ncclGroupSimulateEnd asks and runs nothing",
       .run = simulated,
       .ranks = 2,
       .since = 22200},
      {.id = "registered",
       .sentence = "regBuff says whether both buffers are registered",
       .run = registeredArrives,
       .ranks = 2,
       .since = 22400},
  };
}

}  // namespace autoccl::conformance
