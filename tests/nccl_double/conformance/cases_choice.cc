// What follows from the tuner's answer.
#include <cmath>
#include <limits>

#include "edge/nccl/abi/profiler_events.h"
#include "tests/nccl_double/conformance/rank.h"
#include "tests/nccl_double/release.h"

namespace autoccl::conformance {
namespace {

using namespace nccl;

constexpr size_t kSize = 1 << 20;

void order(Rank& r, int algo, int proto, float value = 0) {
  r.recorder().algo = algo;
  r.recorder().proto = proto;
  r.recorder().value = value;
}

const char* const kAlgoNames[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                  "NVLS_TREE", "PAT"};
const char* const kProtoNames[] = {"LL", "LL128", "SIMPLE"};

void forced(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const testing::Question first = r.question();
  for (int a = 0; a < std::min(first.nAlgos, kAlgos); ++a)
    for (int p = 0; p < kProtos; ++p) {
      if (first.table[a][p] < 0) continue;
      order(r, a, p);
      r.allReduce(kSize);
      const std::string want = std::string(kAlgoNames[a]) + "/" + kProtoNames[p];
      r.expect(r.pairRun() == want, "forced %s, ran %s", want.c_str(), r.pairRun().c_str());
    }
  r.finish();
}

void untouched(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const testing::Question& q = r.question();
  int algo = -1, proto = -1;
  float least = std::numeric_limits<float>::max();
  for (int a = 0; a < q.nAlgos; ++a)
    for (int p = 0; p < kProtos; ++p)
      if (q.table[a][p] >= 0 && q.table[a][p] < least) {
        least = q.table[a][p];
        algo = a;
        proto = p;
      }
  const std::string want = std::string(kAlgoNames[algo]) + "/" + kProtoNames[proto];
  r.expect(r.pairRun() == want, "smallest %s, ran %s", want.c_str(), r.pairRun().c_str());
  r.finish();
}

void ties(Rank& r) {
  r.begin();
  order(r, kAlgoRing, kProtoSimple);
  r.recorder().algo2 = kAlgoTree;
  r.recorder().proto2 = kProtoSimple;
  r.allReduce(kSize);
  r.expect(r.pairRun() == "TREE/SIMPLE", "RING/SIMPLE and TREE/SIMPLE at 0: ran %s",
           r.pairRun().c_str());
  r.recorder().algo2 = kAlgoRing;
  r.recorder().proto2 = kProtoLL;
  r.allReduce(kSize);
  r.expect(r.pairRun() == "RING/LL", "RING/SIMPLE and RING/LL at 0: ran %s", r.pairRun().c_str());
  r.finish();
}

void removedBy(Rank& r, float value, bool stays) {
  r.begin();
  // Everything else is erased, so the call fails if the last entry is taken away too.
  order(r, kAlgoRing, kProtoLL, value);
  r.recorder().eraseRest = true;
  const ncclResult_t result = r.allReduce(4096);
  r.expect((result == ncclSuccess) == stays, "the last entry at %g: answer %d",
           static_cast<double>(value), result);
}
void minusOne(Rank& r) {
  removedBy(r, -1, false);
}
void negative(Rank& r) {
  removedBy(r, -2, false);
}
void notANumber(Rank& r) {
  removedBy(r, std::numeric_limits<float>::quiet_NaN(), false);
}
void hugeOut(Rank& r) {
  removedBy(r, 1e30F, false);
}
void hugeStays(Rank& r) {
  removedBy(r, 1e30F, true);
}
void largeStays(Rank& r) {
  removedBy(r, 1e9F, true);
}

void hugeLoses(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const std::string before = r.pairRun();
  for (int a = 0; a < kAlgos; ++a)
    for (int p = 0; p < kProtos; ++p)
      if (before == std::string(kAlgoNames[a]) + "/" + kProtoNames[p]) order(r, a, p, 1e30F);
  r.allReduce(kSize);
  r.expect(r.pairRun() != before, "%s at 1e30: ran %s", before.c_str(), r.pairRun().c_str());
  r.finish();
}

void nothingLeft(Rank& r) {
  r.begin();
  r.recorder().eraseAll = true;
  const ncclResult_t result = r.allReduce(kSize);
  r.expect(result == ncclInternalError, "all entries -1: answer %d", result);
}

void minusOneWins(Rank& r) {
  r.begin();
  order(r, kAlgoRing, kProtoLL, -1);
  r.allReduce(kSize);
  r.expect(r.pairRun() == "RING/LL", "RING/LL at -1: ran %s", r.pairRun().c_str());
  r.finish();
}

void errorFails(Rank& r) {
  r.begin();
  r.recorder().answerError = ncclInvalidUsage;
  const ncclResult_t result = r.allReduce(kSize);
  r.expect(result == ncclInvalidUsage, "the call answers %d", result);
}

void envAlgo(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const auto& table = r.question().table;
  r.expect(table[kAlgoTree][kProtoSimple] == -1 && table[kAlgoRing][kProtoSimple] >= 0,
           "TREE/SIMPLE %g, RING/SIMPLE %g", static_cast<double>(table[kAlgoTree][kProtoSimple]),
           static_cast<double>(table[kAlgoRing][kProtoSimple]));
  r.finish();
}

void envProto(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  const auto& table = r.question().table;
  r.expect(table[kAlgoRing][kProtoLL] == -1 && table[kAlgoRing][kProtoSimple] >= 0,
           "RING/LL %g, RING/SIMPLE %g", static_cast<double>(table[kAlgoRing][kProtoLL]),
           static_cast<double>(table[kAlgoRing][kProtoSimple]));
  r.finish();
}

void envPerFunction(Rank& r) {
  r.begin();
  r.allReduce(kSize);
  r.expect(r.question().table[kAlgoTree][kProtoSimple] >= 0 &&
               r.question().table[kAlgoRing][kProtoSimple] == -1,
           "AllReduce: TREE/SIMPLE %g, RING/SIMPLE %g",
           static_cast<double>(r.question().table[kAlgoTree][kProtoSimple]),
           static_cast<double>(r.question().table[kAlgoRing][kProtoSimple]));
  r.nccl().Broadcast(r.memory(), r.memory(), 1024, ncclFloat32, 0, r.comm(), r.stream());
  r.synchronize();
  r.expect(r.question().table[kAlgoRing][kProtoSimple] >= 0, "Broadcast keeps RING");
  r.finish();
}

void envWrong(Rank& r) {
  ncclComm_t comm = nullptr;
  const ncclResult_t result = r.start(&comm);
  r.expect(result != ncclSuccess, "init with NCCL_ALGO=square answers %d", result);
}

}  // namespace

std::vector<Case> choiceCases() {
  return {
      {.id = "forced",
       .sentence = "An entry set to 0.0 is what runs, whichever valid one it is",
       .run = forced,
       .ranks = 2,
       .since = 22400},
      {.id = "smallest",
       .sentence = "An untouched table: the smallest entry >= 0 is what runs",
       .run = untouched,
       .ranks = 2,
       .since = 22400},
      {.id = "ties",
       .sentence = "Of equal entries the lower algorithm, then the lower protocol, runs",
       .run = ties,
       .ranks = 2,
       .since = 22400},
      {.id = "minus-one",
       .sentence = "An entry set to -1 is taken away (up to 2.30)",
       .run = minusOne,
       .ranks = 2,
       .since = 22200,
       .until = 23101},
      {.id = "negative",
       .sentence = "So is one set to another negative number (up to 2.30)",
       .run = negative,
       .ranks = 2,
       .since = 22200,
       .until = 23101},
      {.id = "nan",
       .sentence = "So is one set to NaN (up to 2.30)",
       .run = notANumber,
       .ranks = 2,
       .since = 22200,
       .until = 23101},
      {.id = "minus-one-wins",
       .sentence = "From 2.31.2 an entry set to -1 wins",
       .run = minusOneWins,
       .ranks = 2,
       .since = 23102},
      {.id = "large-stays",
       .sentence = "An entry set to 1e9 stays possible",
       .run = largeStays,
       .ranks = 2,
       .since = 22200},
      {.id = "huge-out",
       .sentence = "Up to 2.28 an entry of 3.6e9 or more is never chosen, even alone",
       .run = hugeOut,
       .ranks = 2,
       .since = 22200,
       .until = 22899},
      {.id = "huge-stays",
       .sentence = "Since 2.29 an entry set to 1e30 stays possible",
       .run = hugeStays,
       .ranks = 2,
       .since = 22900},
      {.id = "huge-loses",
       .sentence = "An entry set to 1e30 loses against any other",
       .run = hugeLoses,
       .ranks = 2,
       .since = 22400},
      {.id = "nothing-left",
       .sentence = "No entry left: the call fails with ncclInternalError",
       .run = nothingLeft,
       .ranks = 2,
       .since = 22200,
       .until = 23101},
      {.id = "error",
       .sentence = "An error from the tuner is what the user's call returns",
       .run = errorFails,
       .ranks = 2,
       .since = 21900},
      {.id = "env-algo",
       .sentence = "NCCL_ALGO=Ring turns the entries of other algorithms into -1",
       .run = envAlgo,
       .ranks = 2,
       .since = 22200,
       .env = {{"NCCL_ALGO", "Ring"}}},
      {.id = "env-proto",
       .sentence = "NCCL_PROTO=^LL turns the entries of LL into -1",
       .run = envProto,
       .ranks = 2,
       .since = 22200,
       .env = {{"NCCL_PROTO", "^LL"}}},
      {.id = "env-per-function",
       .sentence = "Since 2.24 NCCL_ALGO may name functions",
       .run = envPerFunction,
       .ranks = 2,
       .since = 22400,
       .env = {{"NCCL_ALGO", "allreduce:tree"}}},
      {.id = "env-wrong",
       .sentence = "Since 2.24 an unknown word in NCCL_ALGO fails the init",
       .run = envWrong,
       .ranks = 2,
       .since = 22400,
       .env = {{"NCCL_ALGO", "square"}}},
  };
}

}  // namespace autoccl::conformance
