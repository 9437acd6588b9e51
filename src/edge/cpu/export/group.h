// Calls between acclGroupStart and acclGroupEnd, and the way every call takes to its engine.
#pragma once

#include <memory>
#include <vector>

#include "handle.h"

namespace autoccl {

/// One call of the program: a collective, or a send or receive.
struct UserCall {
  acclComm_t comm = nullptr;
  acclStream_t stream = nullptr;
  bool isLetter = false;
  Call call;
  Letter letter;
  /// Copies of an uneven call's arrays, where it runs after its caller has returned.
  std::shared_ptr<std::vector<size_t>> arrays;
};

/// Runs the call, hands it to its stream, or keeps it for the end of the group.
acclResult_t submit(const UserCall& call);

}  // namespace autoccl
