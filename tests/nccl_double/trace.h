// What a communicator of the double decided and saw, for tests: one file per rank and communicator
// in the folder NCCL_DOUBLE_TRACE, and a digest.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>

struct ncclComm;

namespace autoccl::nccl_double {

struct CollTask;

class Trace {
 public:
  Trace() = default;
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Begins the file: who it is, and what its start has read.
  void open(const ncclComm& comm);
  /// One answer of the tuner: "tuner func=.. bytes=.. asked=.. heuristic=.. touched=..
  /// negative=..".
  struct Answer {
    int func = 0;
    size_t nBytes = 0;
    int channelsAsked = 0;
    int channelLimit = 0;
    int touched = 0;  // entries that came as -1 and went otherwise
    int changed = 0;  // entries changed at all
    bool simulated = false;
    const char* fallback = "";  // the pair NCCL would have taken
    const char* chosen = "";
  };
  void answer(const Answer& answer);
  /// One collective as launched; enters the digest.
  void call(const CollTask& task);
  void chunk(size_t incoming, size_t answered, size_t grain, size_t most);
  void event(const char* what);

  [[nodiscard]] uint64_t digest() const;
  [[nodiscard]] uint64_t calls() const;

 private:
  void noteMeasuring();

  mutable std::mutex mutex_;
  std::FILE* file_ = nullptr;
  uint64_t digest_ = 14695981039346656037U;
  uint64_t calls_ = 0;
  uint64_t events_ = 0, timings_ = 0;  // of the process, when last looked at
};

}  // namespace autoccl::nccl_double
