// The progress line of a running job.
#pragma once

#include <cstdint>
#include <string>

#include "store/run_record.h"

namespace autoccl::cli {

/// Rewrites one line on stderr from the leader's record. Does nothing unless it is on and stderr is
/// a terminal. Cost: reads the record file at most once in two seconds.
class Progress {
 public:
  explicit Progress(bool on);
  void show(const std::string& recordPath);
  /// Takes the line off the terminal, before other text.
  void clear();

 private:
  bool on_;
  bool shown_ = false;
  int64_t nextNs_ = 0;
  RunRecord before_;
  std::string line_;
};

}  // namespace autoccl::cli
