// Communicators as they come to be.
#include <cstring>

#include "edge/preload/init_gate.h"
#include "edge/preload/watcher.h"

namespace autoccl::preload {
namespace {

/// SplitMix64's finaliser over both words. Steele, Lea, Flood, OOPSLA 2014.
uint64_t mix(uint64_t a, uint64_t b) noexcept {
  uint64_t x = a * 0x9e3779b97f4a7c15ULL + b;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

void setId(nccl::KnownCommunicator& known, const UniqueId& id) noexcept {
  static_assert(sizeof known.uniqueId == sizeof id);
  std::memcpy(known.uniqueId.data(), id.bytes, sizeof id);
  known.hasId = true;
}

/// A child is named by its parent, by which split of the parent's it is, and by its colour: equal
/// on its ranks, since all ranks of the parent take part in each split.
void setPath(nccl::KnownCommunicator& known, CommEntry& parent, int colour) noexcept {
  const uint32_t nth = parent.splits.fetch_add(1);
  known.uniqueId = parent.known.uniqueId;
  known.hasId = parent.known.hasId;
  known.path = mix(mix(parent.known.path, nth + 1), static_cast<uint32_t>(colour)) | 1;
}

}  // namespace

InitWatch::InitWatch(Watcher& watcher, Symbol symbol, const InitFacts& facts) noexcept
    : watcher_(watcher), symbol_(symbol), facts_(facts), nested_(threadState.inside > 1) {
  (void)Driver::find();  // by now CUDA is loaded, if it ever is
  if (nested_ || facts.newComm == nullptr) return;
  entry_ = watcher.book.take();
  if (entry_ == nullptr) return;
  describe(*entry_);
  InitGate::ofProcess().pass([this] { nccl::noteInit(entry_->known); });
  if (threadState.groupDepth == 0) nccl::callNote.initialising = &entry_->known;
}

void InitWatch::describe(CommEntry& entry) const noexcept {
  nccl::KnownCommunicator& known = entry.known;
  known.nRanks = facts_.nRanks;
  known.rank = facts_.rank;
  if (const Driver* driver = Driver::found()) {
    int device = -1;
    if (driver->contextGetDevice(&device) == 0) known.device = device;
  }
  CommEntry* parent = facts_.parent != nullptr ? watcher_.book.find(facts_.parent) : nullptr;
  if (facts_.config == nullptr && parent != nullptr)
    entry.config = parent->config;  // a child without a config inherits
  else
    entry.config.keep(facts_.config);
  entry.nonBlocking.store(entry.config.nonBlocking());
  if (symbol_ == Symbol::kCommSplit && parent != nullptr)
    setPath(known, *parent, facts_.colour);
  else if (facts_.parent == nullptr && facts_.ids != nullptr)
    setId(known, *facts_.ids);
}

int InitWatch::after(int result) noexcept {
  ThreadState& thread = threadState;
  if (symbol_ == Symbol::kGetUniqueId && result == kSuccess) {
    thread.madeId = *facts_.ids;
    thread.hasMadeId = true;
  }
  if (facts_.comms != nullptr) afterInitAll(result);
  if (entry_ == nullptr) return result;
  nccl::callNote.initialising = nullptr;
  if (result == kInProgress) entry_->nonBlocking.store(true);
  const bool going = result == kSuccess || result == kInProgress;
  Comm comm = going ? *facts_.newComm : nullptr;
  if (comm != nullptr && result == kSuccess && thread.groupDepth == 0) askNccl(*entry_, comm);
  const bool entered = comm != nullptr && watcher_.book.enter(*entry_, comm);
  const bool later = going && thread.groupDepth > 0 && (entered || comm == nullptr);
  if (later && thread.nPending < ThreadState::kPending) {
    thread.pending[thread.nPending++] = {facts_.newComm, entry_};
    return result;
  }
  // A non-blocking init goes on: it is forgotten when the program has asked how it went.
  if (!entered || result == kSuccess) nccl::forgetInit(entry_->known);
  if (!entered) watcher_.book.leave(*entry_);
  return result;
}

void InitWatch::afterInitAll(int result) noexcept {
  ThreadState& thread = threadState;
  for (int i = 0; result == kSuccess && i < facts_.nDevices; ++i) {
    CommEntry* entry = watcher_.book.take();
    if (entry == nullptr) return;
    entry->known.rank = i;
    entry->known.nRanks = facts_.nDevices;
    if (thread.hasMadeId) setId(entry->known, thread.madeId);
    askNccl(*entry, facts_.comms[i]);
    if (!watcher_.book.enter(*entry, facts_.comms[i])) watcher_.book.leave(*entry);
  }
}

}  // namespace autoccl::preload
