// What a job's NCCL_DEBUG=INFO output says of the library, its plugins and its faults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "store/nccl/log_ranks.h"

namespace autoccl::nccl {

/// What was read from a log of any number of ranks. Lines that are not NCCL's are passed over.
struct Log {
  int version = 0;        // 22809 for "NCCL version 2.28.9"; 0: no such line
  std::string tuner;      // name of the tuner plugin in use; empty: none
  bool sawTuner = false;  // the log speaks of tuner plugins at all
  size_t lines = 0;       // in all
  size_t ncclLines = 0;   // of them NCCL's
  size_t cutLines = 0;    // of those, lines of choices or hops that are cut off or run together
  int channels = 0;       // of a communicator; 0: not said
  std::string network;    // "IB"; empty: not said
  std::vector<SeenChoice> choices;  // what NCCL chose, each once
  std::vector<Finding>
      findings;  // a sentence that many ranks print stands once, where it was first
};

/// Any bytes are accepted. O(bytes). `fileName` is for the findings.
[[nodiscard]] Log readLog(std::string_view text, const std::string& fileName);

/// A line for each collective and size that the log shows, with the pair, channels and times it was
/// chosen; at most 40, "…" behind. Empty where it shows none.
[[nodiscard]] std::string choicesText(const Log& log);

/// 22809 from "2.28.9" or "2.28.9-1+cuda13.0"; 0 where it is no version.
[[nodiscard]] int versionOf(std::string_view text);
/// "2.28.9".
[[nodiscard]] std::string versionText(int version);

}  // namespace autoccl::nccl
