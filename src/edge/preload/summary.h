// The one line that a process says about itself when it ends.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "edge/nccl/identity.h"

namespace autoccl::preload {

struct CommEntry;
struct Watcher;

/// What the line is made of.
struct Summary {
  std::string library;  // the file whose ncclAllReduce the calls went to; empty: none was called
  int version = 0;      // as ncclGetVersion says it, 22809; 0: unknown
  uint64_t calls = 0, p2pCalls = 0, communicators = 0, registrations = 0;
  bool mixed = false;    // two NCCL libraries
  bool plugins = false;  // NCCL has loaded ours
  nccl::Tally tally;
  std::string tunerName;  // NCCL_TUNER_PLUGIN
};

struct Line {
  LogLevel level = LogLevel::kInfo;
  std::string text;  // empty: nothing to say
};

/// `watcher` is null in a process that made no NCCL call through us.
[[nodiscard]] Summary summaryOf(const Watcher* watcher);
/// Info when all is well, warn where calls were left alone for a reason the user can do something
/// about.
[[nodiscard]] Line summaryLine(const Summary& summary);

/// Tells, at level debug, how often each task was called on a communicator whose end has come.
void tellCounts(const CommEntry& entry) noexcept;

}  // namespace autoccl::preload
