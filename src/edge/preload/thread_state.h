// What the interposer keeps for one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "edge/preload/comm_book.h"
#include "edge/preload/nccl_types.h"

namespace autoccl::preload {

/// The work of the group that is open on this thread.
struct GroupWork {
  CommEntry* entry = nullptr;           // of the first call
  Stream stream = nullptr;              // of the first call
  std::atomic<bool>* timing = nullptr;  // of the first call's task
  uint32_t calls = 0;
  static constexpr size_t kComms = 16;  // GPUs of a process; further ones are not named
  std::array<nccl::KnownCommunicator*, kComms> communicators{};  // each once
  size_t nCommunicators = 0;
  bool severalComms = false;
  bool untimed = false;  // p2p, or several streams: no one time says how long a collective took

  void add(CommEntry* to, Stream on, std::atomic<bool>* task) noexcept {
    if (calls++ == 0) {
      entry = to;
      stream = on;
      timing = task;
    }
    severalComms = severalComms || to != entry;
    name(to);
    untimed = untimed || severalComms || on != stream;
  }

 private:
  void name(CommEntry* of) noexcept {
    if (of == nullptr || nCommunicators == kComms) return;
    nccl::KnownCommunicator** const end = communicators.begin() + nCommunicators;
    if (std::find(communicators.begin(), end, &of->known) == end)
      communicators[nCommunicators++] = &of->known;
  }
};

/// A communicator that is made when the open group ends; NCCL may write its handle only then.
struct PendingInit {
  Comm* handle = nullptr;
  CommEntry* entry = nullptr;
};

/// Trivially destructible: a thread that ends while NCCL still calls us from its destructors is
/// safe. `inside` guards against NCCL's calls of its own weak symbols, which come back to us.
struct ThreadState {
  static constexpr size_t kPending = 64;  // beyond, a communicator is met at its first call

  uint32_t inside = 0;
  int groupDepth = 0;
  CommEntry* last = nullptr;  // of the last call: most threads use one communicator in a row
  GroupWork group;
  std::array<PendingInit, kPending> pending{};
  size_t nPending = 0;
  UniqueId madeId{};  // by ncclGetUniqueId on this thread: ncclCommInitAll makes one for itself
  bool hasMadeId = false;
};

inline thread_local constinit ThreadState threadState{};

}  // namespace autoccl::preload
