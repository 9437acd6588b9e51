// Channels, threads, chunks, and which variables a second communicator reads again.
#include <cstdlib>

#include "edge/nccl/abi/profiler_events.h"
#include "tests/nccl_double/conformance/rank.h"
#include "tests/nccl_double/release.h"

namespace autoccl::conformance {
namespace {

using namespace nccl;
using nccl_double::releaseOf;

constexpr size_t kSize = 16 << 20;

void force(Rank& r, int algo, int proto) {
  r.recorder().algo = algo;
  r.recorder().proto = proto;
  r.recorder().value = 0;
}

int channelsRun(Rank& r) {
  return r.lastColl() != nullptr ? r.lastColl()->channels : -1;
}
int warpsRun(Rank& r) {
  return r.lastColl() != nullptr ? r.lastColl()->warps : -1;
}

void channelsAsked(Rank& r) {
  r.begin();
  force(r, kAlgoRing, kProtoSimple);
  r.allReduce(kSize);
  const int all = channelsRun(r);
  for (const int asked : {1, 2}) {
    if (asked > all) continue;
    r.recorder().channels = asked;
    r.allReduce(kSize);
    r.expect(channelsRun(r) == asked, "asked %d, ran %d", asked, channelsRun(r));
  }
  r.finish();
}

void channelsClamped(Rank& r) {
  r.begin();
  force(r, kAlgoRing, kProtoSimple);
  r.allReduce(kSize);
  const int usual = channelsRun(r);
  r.recorder().channels = 64;
  r.allReduce(kSize);
  r.note("usual %d, asked 64, ran %d", usual, channelsRun(r));
  r.expect(channelsRun(r) >= usual && channelsRun(r) <= 64, "asked 64, ran %d, usual %d",
           channelsRun(r), usual);
  r.finish();
}

void channelsLearned(Rank& r) {
  Config config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = config.maxCTAs = 5;
  r.begin(&config);
  force(r, kAlgoRing, kProtoSimple);
  r.recorder().channels = 64;
  r.allReduce(kSize);
  r.expect(channelsRun(r) == 5, "minCTAs = maxCTAs = 5, asked 64, ran %d", channelsRun(r));
  r.finish();
}

void channelsRaised(Rank& r) {
  Config config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = config.maxCTAs = 8;
  r.begin(&config);
  force(r, kAlgoRing, kProtoSimple);
  constexpr size_t kMiddle = 512 << 10;
  r.allReduce(kMiddle);
  const int usual = channelsRun(r);
  r.recorder().channels = 8;
  r.allReduce(kMiddle);
  r.expect(channelsRun(r) >= usual, "512 KiB: usual %d, asked 8, ran %d", usual, channelsRun(r));
  r.note("512 KiB: usual %d, asked 8, ran %d", usual, channelsRun(r));
  r.finish();
}

void smallTakesFew(Rank& r) {
  Config config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = config.maxCTAs = 8;
  r.begin(&config);
  force(r, kAlgoRing, kProtoSimple);
  r.recorder().channels = 8;
  const auto least = static_cast<size_t>(releaseOf(r.version()).minTrafficBytes);
  const size_t bytes = 2 * least;  // traffic of AllReduce is twice its bytes: four shares
  r.allReduce(bytes);
  r.expect(channelsRun(r) == 4, "%zu bytes at %zu bytes of traffic a channel: ran %d of 8 asked",
           bytes, least, channelsRun(r));
  r.finish();
}

void channelsNegative(Rank& r) {
  Config config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = config.maxCTAs = 8;
  r.begin(&config);
  force(r, kAlgoRing, kProtoSimple);
  r.recorder().channels = -3;
  const auto least = static_cast<size_t>(releaseOf(r.version()).minTrafficBytes);
  const ncclResult_t result = r.allReduce(2 * least);
  r.expect(result == ncclSuccess && channelsRun(r) == 4, "asked -3: answer %d, ran %d", result,
           channelsRun(r));
  r.finish();
}

void minAlone(Rank& r) {
  Config config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 4;
  ncclComm_t comm = nullptr;
  const ncclResult_t result = r.start(&comm, &config);
  r.expect(result != ncclSuccess, "minCTAs alone: init answers %d", result);
}

void treeThreads(Rank& r) {
  r.begin();
  force(r, kAlgoTree, kProtoLL);
  r.allReduce(4096);
  r.expect(warpsRun(r) == 20, "TREE/LL of 4 KiB ran %d warps", warpsRun(r));
  r.finish();
}

void ringThreads(Rank& r) {
  r.begin();
  force(r, kAlgoRing, kProtoSimple);
  r.allReduce(kSize);
  const int large = warpsRun(r);
  r.allReduce(2048);
  r.expect(warpsRun(r) < large, "RING/SIMPLE: 16 MiB ran %d warps, 2 KiB %d", large, warpsRun(r));
  r.expect(warpsRun(r) >= 3, "at least 3 warps");
  r.finish();
}

void chunkQuestions(Rank& r) {
  r.begin();
  force(r, kAlgoRing, kProtoSimple);
  r.allReduce(kSize);
  const auto& rec = r.recorder();
  r.expect(rec.nChunks >= 1 && rec.nChunks <= 3, "%d questions", rec.nChunks.load());
  for (int i = 0; i < rec.nChunks; ++i) {
    r.expect(rec.chunks[i].channels == 1, "told of %d channels", rec.chunks[i].channels);
    r.expect(rec.chunks[i].algo == kAlgoRing && rec.chunks[i].proto == kProtoSimple, "the pair");
    r.expect(rec.chunks[i].incoming == size_t{2} << 20, "comes with %zu", rec.chunks[i].incoming);
    r.expect(rec.chunks[i].thread == thisThread(), "on the caller's thread");
  }
  r.finish();
}

/// What a second communicator of the process sees of a variable that changed in between.
void readAgain(Rank& r, const char* name, const char* value, int algo, int proto, bool again) {
  ncclComm_t first = r.begin();
  force(r, algo, proto);
  r.allReduce(kSize);
  const int before = warpsRun(r);
  setenv(name, value, 1);
  r.begin();
  r.allReduce(kSize);
  const int after = warpsRun(r);
  r.expect((before != after) == again, "%s=%s: %d warps, then %d", name, value, before, after);
  r.finish();
  r.nccl().CommDestroy(first);
}
void thresholds(Rank& r) {
  readAgain(r, "NCCL_THREAD_THRESHOLDS", "0 0 0 0 0 100000000", kAlgoRing, kProtoSimple, true);
}
void threadsCached(Rank& r) {
  readAgain(r, "NCCL_NTHREADS", "64", kAlgoRing, kProtoSimple, false);
}
void threadsUncached(Rank& r) {
  readAgain(r, "NCCL_NTHREADS", "64", kAlgoRing, kProtoSimple, true);
}

void algoAgain(Rank& r) {
  ncclComm_t first = r.begin();
  r.allReduce(kSize);
  r.expect(r.question().table[kAlgoTree][kProtoSimple] >= 0, "TREE before");
  setenv("NCCL_ALGO", "Ring", 1);
  r.begin();
  r.allReduce(kSize);
  r.expect(r.question().table[kAlgoTree][kProtoSimple] == -1, "no TREE after NCCL_ALGO=Ring");
  r.finish();
  r.nccl().CommDestroy(first);
}

}  // namespace

std::vector<Case> parameterCases() {
  return {
      {.id = "channels",
       .sentence = "A number of channels below the usual one is what runs",
       .run = channelsAsked,
       .ranks = 2,
       .since = 22700},
      {.id = "channels-clamp",
       .sentence = "Asking for 64 channels runs as many as there are",
       .run = channelsClamped,
       .ranks = 2,
       .since = 22700},
      {.id = "channels-ctas",
       .sentence = "minCTAs = maxCTAs = N makes N channels; asking for 64 shows it (up to 2.30)",
       .run = channelsLearned,
       .ranks = 2,
       .since = 22700,
       .until = 23101},
      {.id = "channels-raise",
       .sentence = "The tuner may raise the channels (up to 2.30)",
       .run = channelsRaised,
       .ranks = 2,
       .since = 22700,
       .until = 23101},
      {.id = "channels-small",
       .sentence = "Each channel gets at least 16 KiB of traffic (2.29: 32)",
       .run = smallTakesFew,
       .ranks = 2,
       .since = 22700,
       .until = 23101},
      {.id = "channels-negative",
       .sentence = "A negative number of channels counts as very many (up to 2.30)",
       .run = channelsNegative,
       .ranks = 2,
       .since = 22700,
       .until = 23101},
      {.id = "min-ctas",
       .sentence = "minCTAs without maxCTAs fails the init",
       .run = minAlone,
       .ranks = 2,
       .since = 22700},
      {.id = "tree-threads",
       .sentence = "TREE always runs 640 threads (2.22+)",
       .run = treeThreads,
       .ranks = 2,
       .since = 22400},
      {.id = "ring-threads",
       .sentence = "RING runs fewer threads for small calls, at least 3 warps",
       .run = ringThreads,
       .ranks = 2,
       .since = 22400},
      {.id = "chunk",
       .sentence = "getChunkSize is asked up to 3 times a call, for one channel and a part, and "
                   "comes with 2 MiB for RING/SIMPLE",
       .run = chunkQuestions,
       .ranks = 2,
       .since = 23003},
      {.id = "thresholds-read",
       .sentence = "NCCL_THREAD_THRESHOLDS is read at every init",
       .run = thresholds,
       .ranks = 2,
       .since = 22400},
      {.id = "nthreads-cached",
       .sentence = "NCCL_NTHREADS is read once",
       .run = threadsCached,
       .ranks = 2,
       .since = 22400},
      {.id = "nthreads-no-cache",
       .sentence = "NCCL_NO_CACHE=NCCL_NTHREADS: read at every init",
       .run = threadsUncached,
       .ranks = 2,
       .since = 22907,
       .env = {{"NCCL_NO_CACHE", "NCCL_NTHREADS"}}},
      {.id = "algo-read",
       .sentence = "NCCL_ALGO is read at every init",
       .run = algoAgain,
       .ranks = 2,
       .since = 22200},
  };
}

}  // namespace autoccl::conformance
