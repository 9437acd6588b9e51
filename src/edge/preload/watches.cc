#include <algorithm>
#include <iterator>
#include <utility>

#include "edge/preload/summary.h"
#include "edge/preload/watcher.h"

namespace autoccl::preload {
namespace {

/// ncclDataType_t and ncclRedOp_t are indices into these.
constexpr DataType kTypes[] = {DataType::kInt8,     DataType::kUint8,      DataType::kInt32,
                               DataType::kUint32,   DataType::kInt64,      DataType::kUint64,
                               DataType::kFloat16,  DataType::kFloat32,    DataType::kFloat64,
                               DataType::kBfloat16, DataType::kFloat8e4m3, DataType::kFloat8e5m2};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin,
                             ReduceOp::kAvg};

/// Bytes as NCCL counts them: of the larger of both buffers, which for these is that of all ranks.
bool countsAllRanks(Collective c) noexcept {
  return c == Collective::kAllGather || c == Collective::kReduceScatter ||
         c == Collective::kAllToAll || c == Collective::kGather || c == Collective::kScatter;
}

Task taskOf(const CallFacts& facts, int nRanks) noexcept {
  const auto ranks = static_cast<uint64_t>(std::max(nRanks, 1));
  Task task;
  task.collective = facts.collective;
  task.nRanks = nRanks;
  const size_t element = elementBytes(facts.dtype);
  const ModelTypes types = modelTypes(facts.dtype, facts.op);
  if (element != 0) task.dtype = types.dtype;
  if (reduces(facts.collective)) task.op = types.op;
  task.bytes = facts.count * element * (countsAllRanks(facts.collective) ? ranks : 1);
  return task;
}

/// Whether the stream is being captured; nothing where the driver cannot say.
bool capturing(Stream stream, bool& known) noexcept {
  const Driver* driver = Driver::found();
  int status = Driver::kCaptureNone;
  known = driver != nullptr && driver->streamIsCapturing(stream, &status) == 0;
  return known && status != Driver::kCaptureNone;
}

TimedLane* laneOf(Watcher& watcher, CommEntry& entry) noexcept {
  TimedLane* lane = entry.lane.load(std::memory_order_acquire);
  if (lane != nullptr || entry.untimable.load(std::memory_order_relaxed)) return lane;
  lane = watcher.timer.open(entry.known);
  if (lane == nullptr) {
    entry.untimable.store(true);
    return nullptr;
  }
  TimedLane* none = nullptr;
  if (entry.lane.compare_exchange_strong(none, lane)) return lane;
  watcher.timer.close(*lane);  // another thread was faster
  return none;
}

/// Says to the plugins whose work comes now. True where it is known not to be captured.
bool announceWork(CommEntry* entry, Stream stream) noexcept {
  nccl::CallNote& note = nccl::callNote;
  note.communicator = entry != nullptr && !targets.mixed() ? &entry->known : nullptr;
  note.decisions = 0;
  bool known = false;
  note.capturing = capturing(stream, known);
  return entry != nullptr && known && !note.capturing;
}

/// Takes the time where the plugins want it. `timing`: what the task's last call has said of this
/// one.
TimedSlot* beginTime(Watcher& watcher, CommEntry& entry, Stream stream,
                     const std::atomic<bool>* timing) noexcept {
  if (timing == nullptr || !timing->load(std::memory_order_relaxed)) return nullptr;
  if (!entry.known.wantsTimes.load(std::memory_order_relaxed)) return nullptr;
  TimedLane* lane = laneOf(watcher, entry);
  TimedSlot* slot = lane != nullptr ? watcher.timer.begin(*lane, stream) : nullptr;
  nccl::callNote.timed = slot != nullptr;
  return slot;
}

void endWork(Watcher& watcher, TimedSlot* slot, Stream stream, std::atomic<bool>* timing,
             int result) noexcept {
  nccl::CallNote& note = nccl::callNote;
  if (slot != nullptr) {
    // In progress: another thread launches it, at a time that our second event would not follow.
    if (result == kSuccess && note.decisions == 1 && note.measure)
      watcher.timer.end(*slot, stream, note);
    else
      watcher.timer.drop(*slot);
  }
  if (timing != nullptr && note.decisions > 0 && timing->load() != note.measureNext)
    timing->store(note.measureNext);
  note.communicator = nullptr;
  note.communicators = {};
  note.capturing = note.timed = false;
}

int withOurError(const CommEntry* entry, int result) noexcept {
  const bool broken = entry != nullptr && entry->known.broken.load(std::memory_order_relaxed);
  return broken && result == kSuccess ? kRemoteError : result;
}

using AskInt = int (*)(Comm, int*);

void ask(const char* name, Comm comm, int& value) noexcept {
  if (value >= 0) return;
  const Target target = findTarget(name, targets.library());
  int answer = -1;
  if (target.address != nullptr &&
      reinterpret_cast<AskInt>(target.address)(comm, &answer) == kSuccess)
    value = answer;
}

}  // namespace

ModelTypes modelTypes(int dtype, int op) noexcept {
  const auto type = static_cast<size_t>(dtype), operation = static_cast<size_t>(op);
  return {type < std::size(kTypes) ? kTypes[type] : kAnyDataType,
          operation < std::size(kOps) ? kOps[operation] : ReduceOp::kScaledSum};
}

void askNccl(CommEntry& entry, Comm comm) noexcept {
  ask("ncclCommCount", comm, entry.known.nRanks);
  ask("ncclCommUserRank", comm, entry.known.rank);
  ask("ncclCommCuDevice", comm, entry.known.device);
}

CommEntry* entryOf(Watcher& watcher, Comm comm) noexcept {
  CommEntry*& last = threadState.last;
  if (last != nullptr && last->comm.load(std::memory_order_acquire) == comm) return last;
  CommEntry* entry = watcher.book.find(comm);
  if (entry == nullptr && comm != nullptr && (entry = watcher.book.take()) != nullptr) {
    askNccl(*entry, comm);
    if (!watcher.book.enter(*entry, comm)) {  // another thread was faster, or no slot is free
      watcher.book.leave(*entry);
      entry = watcher.book.find(comm);
    }
  }
  if (entry == nullptr) return nullptr;
  last = entry;
  return entry;
}

CallWatch::CallWatch(Watcher& watcher, const CallFacts& facts) noexcept
    : watcher_(watcher),
      entry_(entryOf(watcher, facts.comm)),
      stream_(facts.stream),
      alone_(threadState.groupDepth == 0) {
  if (entry_ == nullptr)
    watcher.unknown.fetch_add(1, std::memory_order_relaxed);
  else
    timing_ = entry_->counts.count(taskOf(facts, entry_->known.nRanks));
  route_.comm = facts.comm;
  if (!alone_) {
    threadState.group.add(entry_, stream_, timing_);
    return;
  }
  if (!announceWork(entry_, stream_)) return;
  slot_ = beginTime(watcher, *entry_, stream_, timing_);
  if (watcher.routes) route_ = routeOf(watcher, *entry_, facts);
}

int CallWatch::after(int result) noexcept {
  if (alone_) endWork(watcher_, slot_, stream_, timing_, result);
  if (alone_ && watcher_.routes) afterRouted(route_, stream_, result);
  return withOurError(entry_, result);
}

P2pWatch::P2pWatch(Watcher& watcher, const CallFacts& facts) noexcept {
  if (CommEntry* entry = entryOf(watcher, facts.comm))
    entry->p2pCalls.fetch_add(1, std::memory_order_relaxed);
  threadState.group.untimed = true;
}

GroupWatch::GroupWatch(Watcher& watcher, Symbol symbol) noexcept
    : watcher_(watcher), symbol_(symbol) {
  ThreadState& thread = threadState;
  if (symbol == Symbol::kGroupStart) {
    if (thread.groupDepth == 0) thread.group = {};
    return;
  }
  outermost_ = thread.groupDepth == 1;
  if (!outermost_) return;
  work_ = std::exchange(thread.group, {});
  const bool runs = symbol == Symbol::kGroupEnd;
  nccl::callNote.simulating = !runs;
  CommEntry* only = work_.severalComms ? nullptr : work_.entry;
  if (work_.severalComms && !targets.mixed())
    nccl::callNote.communicators = {work_.communicators.data(), work_.nCommunicators};
  if (announceWork(only, work_.stream) && runs && work_.calls > 0 && !work_.untimed)
    slot_ = beginTime(watcher, *only, work_.stream, work_.timing);
}

int GroupWatch::after(int result) noexcept {
  ThreadState& thread = threadState;
  if (symbol_ == Symbol::kGroupStart) {
    if (result == kSuccess) ++thread.groupDepth;
    return result;
  }
  if (thread.groupDepth > 0) --thread.groupDepth;
  if (!outermost_) return result;
  endWork(watcher_, slot_, work_.stream, work_.timing, result);
  nccl::callNote.simulating = false;
  settleInits(result);
  return withOurError(work_.entry, result);
}

void GroupWatch::settleInits(int result) noexcept {
  ThreadState& thread = threadState;
  for (size_t i = 0; i < thread.nPending; ++i) {
    CommEntry& entry = *thread.pending[i].entry;
    if (result != kInProgress) nccl::forgetInit(entry.known);
    if (result == kInProgress) entry.nonBlocking.store(true);
    const bool entered = entry.comm.load() != nullptr;
    Comm comm = result == kSuccess ? *thread.pending[i].handle : nullptr;
    if (comm != nullptr) askNccl(entry, comm);
    if (entered || (comm != nullptr && watcher_.book.enter(entry, comm))) continue;
    nccl::forgetInit(entry.known);
    watcher_.book.leave(entry);
  }
  thread.nPending = 0;
}

void beforeEnd(Watcher& watcher, Symbol symbol, Comm comm) noexcept {
  CommEntry* entry = watcher.book.find(comm);
  if (entry == nullptr) return;
  if (const nccl::PluginSide* side = nccl::pluginSide.load()) side->endCommunicator(entry->known);
  nccl::forgetInit(entry->known);
  endFamily(*entry, symbol);
  if (symbol != Symbol::kCommDestroy && symbol != Symbol::kCommAbort) return;
  tellCounts(*entry);
  if (TimedLane* lane = entry->lane.exchange(nullptr)) watcher.timer.close(*lane);
  watcher.book.leave(*entry);
}

void addOurError(Watcher& watcher, const QueryFacts& facts, int result) noexcept {
  if (result != kSuccess || facts.asyncError == nullptr) return;
  CommEntry* entry = watcher.book.find(facts.comm);
  if (entry == nullptr || *facts.asyncError != kSuccess) return;
  nccl::forgetInit(entry->known);  // a non-blocking init is over
  if (entry->known.broken.load()) *facts.asyncError = kRemoteError;
  Family* family = entry->family.load();
  if (family == nullptr || *facts.asyncError != kSuccess) return;
  if (const int error = family->asyncError(); error != kSuccess) *facts.asyncError = error;
}

}  // namespace autoccl::preload
