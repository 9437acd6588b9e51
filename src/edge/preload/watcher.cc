#include "edge/preload/watcher.h"

#include <pthread.h>

#include <mutex>
#include <new>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "edge/nccl/open_session.h"
#include "edge/preload/summary.h"

namespace autoccl::preload {

constinit std::atomic<Watcher::State> Watcher::state_{State::kUndecided};
constinit Watcher* Watcher::instance_ = nullptr;
constinit Targets targets;

namespace {

void reportTime(nccl::KnownCommunicator& known, const nccl::StreamTime& time) noexcept {
  if (const nccl::PluginSide* side = nccl::pluginSide.load()) side->reportStreamTime(known, time);
}

Watcher* newest = nullptr;  // for the handlers below, which outlive retire()

/// NCCL does not survive a fork, and our thread is not in the child.
void inForkedChild() {
  Watcher::retire();
  if (newest != nullptr) newest->timer.forget();
  newest = nullptr;
}

__attribute__((destructor)) void atExit() {
  if (newest != nullptr) {
    newest->timer.stop();
    newest->book.forEach([](const CommEntry& entry) { tellCounts(entry); });
  }
  if (newest == nullptr && nccl::pluginSide.load() == nullptr) return;
  try {
    const Line line = summaryLine(summaryOf(newest));
    if (!line.text.empty()) logLine(line.level, line.text);
  } catch (...) {  // no memory for a line
  }
}

}  // namespace

Watcher* Watcher::decide() noexcept {
  static std::mutex deciding;
  const std::lock_guard lock(deciding);
  if (state_.load() != State::kUndecided) return instance_;
  try {
    if (nccl::tuningWanted())
      instance_ = new Watcher(
          &reportTime, !settingText("AUTOCCL_VARIANTS").empty() || settingSwitch("AUTOCCL_DIRECT"));
  } catch (const std::exception& error) {
    logLine(LogLevel::kWarn, std::string("tuning is off: ") + error.what());
  }
  newest = instance_;
  if (instance_ != nullptr) {
    pthread_atfork(nullptr, nullptr, &inForkedChild);
    (void)logLevel();  // read now: at exit the table of settings may be gone
  }
  state_.store(instance_ != nullptr ? State::kOn : State::kOff, std::memory_order_release);
  return instance_;
}

int missingTarget(Symbol symbol) noexcept {
  static constinit std::array<std::atomic<bool>, kSymbols> told{};
  const auto at = static_cast<size_t>(symbol);
  if (!told[at].exchange(true)) try {
      logLine(LogLevel::kWarn,
              std::string("no loaded library has ") + kSymbolNames[at] +
                  ", which this program calls; the call returns ncclInternalError. "
                  "Load an NCCL that has it, or start without LD_PRELOAD");
    } catch (...) {  // no memory for a line
    }
  return kInternalError;
}

}  // namespace autoccl::preload
