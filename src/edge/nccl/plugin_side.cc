#include "edge/nccl/plugin_side.h"

#include <atomic>

#include "edge/nccl/comm_context.h"
#include "edge/nccl/identity.h"

namespace autoccl::nccl {
namespace {

constinit std::atomic<uint64_t> tuned{0};
constinit std::atomic<uint64_t> untouched{0};
constinit std::atomic<const char*> lastWhy{""};

CommContext* contextOf(KnownCommunicator& known) noexcept {
  return static_cast<CommContext*>(known.context.load(std::memory_order_acquire));
}

void endCommunicator(KnownCommunicator& known) noexcept {
  if (CommContext* context = contextOf(known)) context->end();
  known.context.store(nullptr, std::memory_order_release);
}

void reportStreamTime(KnownCommunicator& known, const StreamTime& time) noexcept {
  if (CommContext* context = contextOf(known)) context->timed(time);
}

Tally tally() noexcept {
  return {tuned.load(), untouched.load(), lastWhy.load()};
}

constexpr PluginSide kSide{endCommunicator, reportStreamTime, tally};

}  // namespace

void announcePlugins() noexcept {
  pluginSide.store(&kSide, std::memory_order_release);
}

void countTuned() noexcept {
  tuned.fetch_add(1, std::memory_order_relaxed);
}

void countUntouched(const char* why) noexcept {
  untouched.fetch_add(1, std::memory_order_relaxed);
  lastWhy.store(why, std::memory_order_relaxed);
}

}  // namespace autoccl::nccl
