#include "edge/preload/family.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "edge/nccl/plugin_side.h"
#include "edge/preload/watcher.h"

namespace autoccl::preload {
namespace {

constexpr int kOwnOps = 5;  // ncclNumOps: above are operations that belong to one communicator

bool isTunable(Collective c) noexcept {
  return c == Collective::kAllReduce || c == Collective::kAllGather ||
         c == Collective::kReduceScatter || c == Collective::kBroadcast || c == Collective::kReduce;
}

bool isSwitchable(const CommEntry& entry, const CallFacts& facts) noexcept {
  return isTunable(facts.collective) && !facts.configured && facts.op >= 0 && facts.op < kOwnOps &&
         facts.count > 0 && elementBytes(facts.dtype) > 0 && entry.known.nRanks > 1 &&
         !entry.nonBlocking.load(std::memory_order_relaxed) && !targets.mixed();
}

Family* familyOf(CommEntry& entry) noexcept {
  if (!entry.familyTried.exchange(true)) entry.family.store(makeFamily(entry));
  return entry.family.load(std::memory_order_acquire);
}

uint64_t tunerBytes(const CallFacts& facts, int nRanks) noexcept {
  const bool all =
      facts.collective == Collective::kAllGather || facts.collective == Collective::kReduceScatter;
  return facts.count * elementBytes(facts.dtype) * (all ? static_cast<uint64_t>(nRanks) : 1);
}

/// The call's task; null where NCCL has to be asked first.
const Task* taskOf(Family& family, const KnownCalls::Kind& kind, uint64_t bytes) noexcept {
  const Task* known = family.calls.find(kind);
  if (known != nullptr || family.asksTuner) return known;
  family.calls.learn(kind, family.context->taskWithoutTuner(kind.collective, bytes));
  return family.calls.find(kind);
}

/// Behind the last call, where its stream does not see to that.
void keepOrder(const Family& family, uint8_t variant, Stream stream) noexcept {
  if (!family.called || stream == family.lastStream || variant == family.lastVariant) return;
  (void)Driver::found()->streamWaitEvent(stream, family.last, 0);
}

template <class... Arguments>
int callOn(const Member& member, Symbol symbol, Arguments... arguments) noexcept {
  void* function =
      member.library != nullptr
          ? member.library->of(symbol)
          : findTarget(kSymbolNames[static_cast<size_t>(symbol)], targets.library()).address;
  if (function == nullptr) return kSuccess;
  const Inside inside;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

/// Abort and Revoke end the waits of its calls; with Destroy and Abort it goes, when no thread is
/// in it any more.
void endEngine(Family& family, Symbol symbol) noexcept {
  GpuEngine* engine = family.gpus.load();
  if (engine == nullptr) return;
  if (symbol == Symbol::kCommAbort || symbol == Symbol::kCommRevoke) engine->stop();
  if (symbol != Symbol::kCommAbort && symbol != Symbol::kCommDestroy) return;
  if (family.gpus.exchange(nullptr) == nullptr) return;
  family.context->offerEngine(nullptr);
  while (family.onGpus.load() != 0) std::this_thread::yield();
  delete engine;
}

}  // namespace

size_t KnownCalls::placeOf(const Kind& kind) noexcept {
  const uint64_t what = static_cast<uint64_t>(kind.collective) << 16 |
                        static_cast<uint64_t>(kind.dtype) << 8 | static_cast<uint64_t>(kind.op);
  return static_cast<size_t>((kind.count ^ what << 40) * 0x9e3779b97f4a7c15ULL >> 48) % kCalls;
}

const Task* KnownCalls::find(const Kind& kind) const noexcept {
  const size_t first = placeOf(kind);
  for (size_t i = 0; i < kProbes; ++i) {
    const Place& place = places_[(first + i) % kCalls];
    if (!place.used) return nullptr;
    if (place.kind == kind) return &place.task;
  }
  return nullptr;
}

void KnownCalls::learn(const Kind& kind, const Task& task) noexcept {
  const size_t first = placeOf(kind);
  for (size_t i = 0; i < kProbes; ++i) {
    Place& place = places_[(first + i) % kCalls];
    if (place.used) continue;
    place = {true, kind, task};
    return;
  }
}

// HOT
Route routeOf(Watcher&, CommEntry& entry, const CallFacts& facts) noexcept {
  Route route;
  route.comm = facts.comm;
  if (!isSwitchable(entry, facts)) return route;
  Family* family = familyOf(entry);
  if (family == nullptr) {  // none yet, or it has ended while they were made
    route.refused = entry.comm.load(std::memory_order_acquire) == nullptr;
    return route;
  }
  nccl::CallNote& note = nccl::callNote;
  note.switchable = true;
  route.family = family;
  route.learn = {facts.collective, facts.dtype, facts.op, facts.count};
  const Task* task = taskOf(*family, route.learn, tunerBytes(facts, entry.known.nRanks));
  route.unknown = task == nullptr;
  if (task != nullptr && !family->context->decideAhead(*task)) {
    route.refused = true;
    return route;
  }
  route.onGpus = note.decided && nccl::onGpuEngine(note.asked);
  if (route.onGpus)
    route.variant = kOnGpus;
  else if (note.decided)
    route.variant = note.asked.extra;
  if (route.variant != 0 && !route.onGpus) {
    Member& member = family->members[route.variant];
    route.comm = member.comm.load(std::memory_order_acquire);
    route.library = member.library;
    route.refused = route.comm == nullptr;  // it has ended: so has the program's
  }
  keepOrder(*family, route.variant, facts.stream);
  return route;
}

// HOT
std::optional<int> runOnGpus(const Route& route, const CallFacts& facts) noexcept {
  Family& family = *route.family;
  family.onGpus.fetch_add(1);
  GpuEngine* engine = family.gpus.load();
  const std::optional<int> result =
      engine != nullptr ? engine->run(facts, nccl::callNote.asked) : std::optional(kRemoteError);
  family.onGpus.fetch_sub(1);
  if (!result)
    nccl::callNote.measure = false;  // NCCL's time is not this config's
  else if (*result == kSuccess)
    nccl::countTuned();
  return result;
}

// HOT
void afterRouted(const Route& route, Stream stream, int result) noexcept {
  nccl::CallNote& note = nccl::callNote;
  if (route.family != nullptr && !route.refused) {
    Family& family = *route.family;
    if (route.unknown && result == kSuccess && note.decisions == 1)
      family.calls.learn(route.learn, note.task);
    if (family.last != nullptr) (void)Driver::found()->eventRecord(family.last, stream);
    family.lastStream = stream;
    family.lastVariant = route.variant;
    family.called = family.last != nullptr;
  }
  note.switchable = false;
  note.decided = false;
}

int Family::asyncError() noexcept {
  onGpus.fetch_add(1);
  const GpuEngine* engine = gpus.load();
  const bool broken = engine != nullptr && engine->broken();
  onGpus.fetch_sub(1);
  if (broken) return kRemoteError;
  for (Member& member : members) {
    int error = kSuccess;
    Comm comm = member.comm.load();
    if (comm == nullptr) continue;
    if (callOn(member, Symbol::kCommGetAsyncError, comm, &error) != kSuccess) continue;
    if (error != kSuccess && error != kInProgress) return error;
  }
  return kSuccess;
}

void endFamily(CommEntry& entry, Symbol symbol) noexcept {
  Family* family = entry.family.load();
  if (family == nullptr) return;
  const bool last = symbol == Symbol::kCommDestroy || symbol == Symbol::kCommAbort;
  endEngine(*family, symbol);
  for (Member& member : family->members) {
    Comm comm = last ? member.comm.exchange(nullptr) : member.comm.load();
    if (comm == nullptr) continue;
    if (symbol == Symbol::kCommRevoke)
      (void)callOn(member, symbol, comm, 0);
    else
      (void)callOn(member, symbol, comm);
  }
  if (!last) return;
  if (Driver::Event event = std::exchange(family->last, nullptr))
    (void)Driver::found()->eventDestroy(event);
  entry.family.store(nullptr);
}

}  // namespace autoccl::preload
