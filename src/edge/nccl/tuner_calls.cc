#include "edge/nccl/tuner_calls.h"

#include "edge/nccl/contexts.h"
#include "edge/nccl/guard.h"

namespace autoccl::nccl {
namespace {

Result resultOf(const Answer& answer) noexcept {
  return answer.kind == Answer::Kind::kFail ? Result::kRemoteError : Result::kSuccess;
}

}  // namespace

Result beginTuner(int version, uint64_t commId, size_t nRanks, size_t nNodes,
                  void** context) noexcept {
  if (context != nullptr) *context = nullptr;
  return guarded([&] {
    Origin origin;
    origin.commId = commId;
    origin.nRanks = static_cast<int>(nRanks);
    origin.nNodes = static_cast<int>(nNodes);
    origin.tunerVersion = version;
    CommContext* begun = Contexts::ofProcess().beginTuner(origin);
    if (context != nullptr) *context = begun;
  });
}

Result endTuner(void* context) noexcept {
  return guarded([&] { Contexts::ofProcess().end(static_cast<CommContext*>(context)); });
}

// HOT
Result answerInTable(void* context, const TableQuestion& q, int* nChannels) noexcept {
  if (context == nullptr) return Result::kSuccess;
  CostTable table(q.rows, q.nAlgos, q.nProtos);
  const Answer answer = static_cast<CommContext*>(context)->decide(
      {q.func, q.nBytes, q.pipeOps, table.possible(), &table});
  if (answer.kind == Answer::Kind::kForce && table.force(answer.pair) && answer.channels > 0 &&
      nChannels != nullptr)
    *nChannels = answer.channels;
  return resultOf(answer);
}

// HOT
Result answerPlainly(CommContext* context, const PlainQuestion& q, int* algo, int* proto,
                     int* nChannels) noexcept {
  if (context == nullptr || algo == nullptr || proto == nullptr) return Result::kSuccess;
  const Answer answer =
      context->decide({q.func, q.nBytes, q.pipeOps, pairsWithoutTable(q.func), nullptr});
  if (answer.kind == Answer::Kind::kForce) {
    *algo = answer.pair.algo;
    *proto = answer.pair.proto;
    if (answer.channels > 0 && nChannels != nullptr) *nChannels = answer.channels;
  }
  return resultOf(answer);
}

}  // namespace autoccl::nccl
