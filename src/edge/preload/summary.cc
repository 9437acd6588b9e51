#include "edge/preload/summary.h"

#include <cstdlib>

#include "edge/preload/watcher.h"

namespace autoccl::preload {
namespace {

constexpr int kFirstWithTuner = 21900;

/// "2.28.9"; since 2.9 the code is major x 10000 + minor x 100 + patch.
std::string versionText(int code) {
  if (code <= 0) return "of unknown version";
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::string counted(uint64_t n, const char* thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

std::string seenText(const Summary& s) {
  std::string text = counted(s.calls, "collective call");
  if (s.p2pCalls > 0) text += " and " + std::to_string(s.p2pCalls) + " sends and receives";
  text += " on " + counted(s.communicators, "communicator");
  if (s.registrations > 0) text += " and " + counted(s.registrations, "registration");
  return text;
}

int askVersion(const void* library) noexcept {
  const Target target = findTarget("ncclGetVersion", library);
  int version = 0;
  if (target.address == nullptr) return 0;
  return reinterpret_cast<int (*)(int*)>(target.address)(&version) == kSuccess ? version : 0;
}

}  // namespace

Summary summaryOf(const Watcher* watcher) {
  Summary summary;
  if (watcher != nullptr) {
    summary.calls = watcher->book.calls() + watcher->unknown.load();
    summary.p2pCalls = watcher->book.p2pCalls();
    summary.communicators = watcher->book.communicators();
    summary.registrations = watcher->registrations.load();
  }
  if (const void* library = targets.library(); library != nullptr) {
    summary.library = objectPath(library);
    summary.version = askVersion(library);
  }
  summary.mixed = targets.mixed();
  if (const nccl::PluginSide* side = nccl::pluginSide.load()) {
    summary.plugins = true;
    summary.tally = side->tally();
  }
  if (const char* name = std::getenv("NCCL_TUNER_PLUGIN")) summary.tunerName = name;
  return summary;
}

Line summaryLine(const Summary& s) {
  if (s.library.empty()) {
    if (!s.plugins) return {};
    return {
        LogLevel::kInfo,
        "this program does not reach NCCL by the dynamic linker (linked statically, or loaded by "
        "dlopen): tuned by the plugins alone, " +
            counted(s.tally.tuned, "call") + " tuned, " + std::to_string(s.tally.untouched) +
            " untouched"};
  }
  const std::string nccl = "NCCL " + versionText(s.version) + " (" + s.library + ")";
  if (s.mixed)
    return {LogLevel::kWarn, "this process uses two NCCL libraries, " + nccl +
                                 " and another: each call went to its own and none was tuned; "
                                 "start it with one libnccl.so.2"};
  const bool nothingToTune = s.communicators == 0 || s.calls == 0;
  if (nothingToTune && s.tally.tuned + s.tally.untouched == 0)
    return {LogLevel::kInfo, nccl + ": " + seenText(s) + ", nothing to tune"};
  if (s.version > 0 && s.version < kFirstWithTuner && s.tally.tuned + s.tally.untouched == 0)
    return {LogLevel::kWarn,
            nccl + " has no tuner plugins: " + seenText(s) +
                ", none tuned; NCCL 2.19 or newer can be tuned, this one only with "
                "AUTOCCL_VARIANTS=threads"};
  if (!s.plugins)
    return {LogLevel::kWarn, nccl + " did not load our tuner (NCCL_TUNER_PLUGIN='" + s.tunerName +
                                 "'): " + seenText(s) +
                                 ", none tuned; set it to libnccl-tuner-autoccl.so"};
  std::string text = nccl + ": " + seenText(s) + "; " + std::to_string(s.tally.tuned) + " tuned, " +
                     std::to_string(s.tally.untouched) + " untouched";
  if (s.tally.why != nullptr && *s.tally.why != '\0') text += " (" + std::string(s.tally.why) + ")";
  return {LogLevel::kInfo, text};
}

void tellCounts(const CommEntry& entry) noexcept {
  if (logLevel() < LogLevel::kDebug) return;
  try {
    std::string text = "calls of a communicator as rank " + std::to_string(entry.known.rank) +
                       " of " + std::to_string(entry.known.nRanks) + ":";
    entry.counts.forEach([&](const Task& task, uint64_t calls) {
      text += " " + std::to_string(calls) + " x " + toText(task) + ";";
    });
    logLine(LogLevel::kDebug, text);
  } catch (...) {  // no memory for a line
  }
}

}  // namespace autoccl::preload
