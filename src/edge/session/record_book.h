// The run record of this process: what the leaders of all its communicators know, in one file.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "store/run_record.h"

namespace autoccl {

/// One per process. Each leader puts its communicator's part; the file named by AUTOCCL_RESULT is
/// rewritten whole. Where rank 0 of the job is another process, the file's name gets this
/// process's rank of the job as a suffix (".3"), and `autoccl run` joins them. Thread-safe; never
/// throws: a file that cannot be written is told once in the log.
class RecordBook {
 public:
  static RecordBook& ofProcess();

  /// Takes the newest part of one communicator and rewrites the file.
  void put(uint64_t sessionId, RunRecord part, bool finished) noexcept;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  RecordBook();
  [[nodiscard]] RunRecord joined() const;

  struct Part {
    RunRecord record;
    bool finished = false;
  };
  std::mutex mutex_;
  std::string path_;
  std::string machine_, machineText_, date_;
  int64_t startedNs_ = 0;
  std::map<uint64_t, Part> parts_;
  bool told_ = false;
};

}  // namespace autoccl
