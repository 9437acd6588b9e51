// What the thunks of all tuner versions have in common.
#pragma once

#include "edge/nccl/abi/tuner.h"
#include "edge/nccl/comm_context.h"

namespace autoccl::nccl {

/// A new communicator. *context stays null, "off", where something goes wrong.
Result beginTuner(int version, uint64_t commId, size_t nRanks, size_t nNodes,
                  void** context) noexcept;
Result endTuner(void* context) noexcept;

/// What is asked, in the words of the interfaces with a cost table.
struct TableQuestion {
  int func;
  size_t nBytes;
  int pipeOps;
  CostRows rows;
  int nAlgos;
  int nProtos;
};
/// v3 to v6. *nChannels is written only where a number of channels is asked for. HOT.
Result answerInTable(void* context, const TableQuestion& question, int* nChannels) noexcept;

/// v1 and v2: the answer as numbers; all or none of *algo and *proto are written. HOT.
struct PlainQuestion {
  int func;
  size_t nBytes;
  int pipeOps;
};
Result answerPlainly(CommContext* context, const PlainQuestion& question, int* algo, int* proto,
                     int* nChannels) noexcept;

}  // namespace autoccl::nccl
