#include "edge/nccl/contexts.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "edge/nccl/device.h"
#include "edge/nccl/plugin_side.h"
#include "edge/session/record_book.h"

namespace autoccl::nccl {
namespace {

/// From the profiler's init to the tuner's, which follows on the same thread.
thread_local constinit CommContext* begunHere = nullptr;

/// The interposer's record of the communicator that this thread makes for NCCL, as far as it can be
/// told.
KnownCommunicator* knownUnderWay(int nRanks, int rank) {
  KnownCommunicator* known = callNote.initialising;
  if (known == nullptr) known = initUnderWay(nRanks, currentDevice());
  const bool other = known != nullptr && ((known->nRanks >= 0 && known->nRanks != nRanks) ||
                                          (known->rank >= 0 && rank >= 0 && known->rank != rank));
  return other ? nullptr : known;
}

}  // namespace

Contexts& Contexts::ofProcess() {
  // Never destroyed: NCCL's threads may call until the process is gone.
  static auto* const contexts = [] {
    (void)RecordBook::ofProcess();  // outlives the sessions that write into it
    std::atexit([] { ofProcess().closeAll(); });
    return new Contexts;
  }();
  return *contexts;
}

CommContext* Contexts::make(const Origin& origin, int users) {
  auto context = std::make_unique<CommContext>(origin, sampling_);
  CommContext* made = context.get();
  const std::lock_guard lock(mutex_);
  open_.push_back({std::move(context), users});
  return made;
}

CommContext* Contexts::beginProfiler(const Origin& origin) {
  announcePlugins();
  begunHere = make(origin, 1);
  return begunHere;
}

CommContext* Contexts::join(const CommContext* begun, const Origin& origin) {
  const std::lock_guard lock(mutex_);
  for (Entry& e : open_) {  // whatever is not in here may have gone
    if (e.context.get() != begun) continue;
    const Origin& known = e.context->origin();
    const bool other = origin.commId != 0 && known.commId != 0 && origin.commId != known.commId;
    if (other || known.nRanks != origin.nRanks) return nullptr;
    ++e.users;
    return e.context.get();
  }
  return nullptr;
}

CommContext* Contexts::beginTuner(const Origin& origin) {
  announcePlugins();
  CommContext* context = join(std::exchange(begunHere, nullptr), origin);
  if (context == nullptr) context = make(origin, 1);
  Origin more = origin;
  more.known = knownUnderWay(origin.nRanks, context->origin().rank);
  context->learn(more);
  if (more.known != nullptr) more.known->context.store(context);
  return context;
}

CommContext* Contexts::ofCurrentCall(int tunerVersion) {
  KnownCommunicator* known = communicatorOfCall(-1, currentDevice());
  if (known == nullptr) return nullptr;
  if (void* context = known->context.load()) return static_cast<CommContext*>(context);
  Origin origin;
  origin.rank = known->rank;
  origin.nRanks = known->nRanks;
  origin.tunerVersion = tunerVersion;
  origin.known = known;
  origin.variantsOnly = tunerVersion == 0;
  CommContext* context = make(origin, 1);
  known->context.store(context);
  return context;
}

void Contexts::end(CommContext* context) noexcept {
  std::unique_ptr<CommContext> last;
  std::unique_ptr<CommContext> oldest;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(open_.begin(), open_.end(),
                                 [&](const Entry& e) { return e.context.get() == context; });
    if (at == open_.end() || --at->users > 0) return;
    last = std::move(at->context);
    open_.erase(at);
  }
  last->close();  // without the lock: the agent thread ends in it
  const std::lock_guard lock(mutex_);
  closed_.push_back(std::move(last));
  if (closed_.size() > kClosedKept) {
    oldest = std::move(closed_.front());
    closed_.pop_front();
  }
}

void Contexts::closeAll() noexcept {
  if (getpid() != process_) return;  // a forked child: the agent threads are not in it
  std::deque<Entry> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(open_);
  }
  for (Entry& e : all) e.context->close();
  const std::lock_guard lock(mutex_);
  for (Entry& e : all) closed_.push_back(std::move(e.context));  // NCCL's threads may still look
}

}  // namespace autoccl::nccl
