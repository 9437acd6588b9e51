#include "edge/nccl/identity.h"

namespace autoccl::nccl {
namespace {

/// More inits at once than any program makes; beyond, the plugin is not told.
constexpr size_t kMostInits = 256;
constinit std::array<std::atomic<KnownCommunicator*>, kMostInits> inits{};

}  // namespace

KnownCommunicator* communicatorOfCall(int nRanks, int device) noexcept {
  if (callNote.communicator != nullptr) return callNote.communicator;
  KnownCommunicator* found = nullptr;
  for (KnownCommunicator* known : callNote.communicators) {
    if ((nRanks >= 0 && known->nRanks != nRanks) || known->device != device) continue;
    if (found != nullptr) return nullptr;
    found = known;
  }
  return found;
}

void noteInit(KnownCommunicator& communicator) noexcept {
  for (auto& place : inits) {
    KnownCommunicator* empty = nullptr;
    if (place.compare_exchange_strong(empty, &communicator)) return;
  }
}

void forgetInit(KnownCommunicator& communicator) noexcept {
  for (auto& place : inits) {
    KnownCommunicator* mine = &communicator;
    if (place.compare_exchange_strong(mine, nullptr)) return;
  }
}

bool usersInitUnderWay() noexcept {
  for (auto& place : inits) {
    const KnownCommunicator* known = place.load();
    if (known != nullptr && !known->isVariant) return true;
  }
  return false;
}

KnownCommunicator* initUnderWay(int nRanks, int device) noexcept {
  KnownCommunicator* found = nullptr;
  for (auto& place : inits) {
    KnownCommunicator* known = place.load();
    if (known == nullptr || known->nRanks != nRanks || known->device != device) continue;
    if (found != nullptr) return nullptr;
    found = known;
  }
  return found;
}

}  // namespace autoccl::nccl
