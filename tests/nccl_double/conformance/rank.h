// One rank of a case: the library under test, the recorder, a stream, and what it found.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/nccl_double/conformance/case.h"
#include "tests/nccl_double/driver.h"
#include "tests/nccl_double/nccl.h"
#include "tests/nccl_double/programs/ranks.h"
#include "tests/nccl_double/recorder.h"

namespace autoccl::conformance {

/// The library's functions by their weak names; null where this version lacks one.
struct Library {
#define AUTOCCL_NCCL_POINTER(result, name, arguments) result(*name) arguments = nullptr;
  NCCL_DOUBLE_CALLS(AUTOCCL_NCCL_POINTER)
#undef AUTOCCL_NCCL_POINTER
  void* handle = nullptr;
};
/// Opens the library; ends the process with a line where it cannot.
[[nodiscard]] Library openLibrary(const char* file);

/// A request that a case makes of the communicator: filled from NCCL_CONFIG_INITIALIZER.
using Config = ncclConfig_t;

class Rank {
 public:
  /// Opens device, library and recorder. Findings go to `file`.
  Rank(const testing::Place& place, const char* library, const char* recorder,
       const std::string& file);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int size() const { return place_.nRanks; }
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] const Library& nccl() const { return nccl_; }
  [[nodiscard]] testing::Recorder& recorder() const { return *recorder_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] void* memory(size_t offset = 0) const { return buffer_->data(offset); }
  static constexpr size_t kMemory = size_t{64} << 20;

  /// A communicator of all ranks. start says the library's answer; begin ends the case on an error.
  ncclResult_t start(ncclComm_t* comm, Config* config = nullptr);
  ncclComm_t begin(Config* config = nullptr);
  /// Ends the communicator that begin made.
  void finish();
  [[nodiscard]] ncclComm_t comm() const { return comm_; }

  /// One AllReduce of float32 in place, waited for; the library's answer.
  ncclResult_t allReduce(size_t bytes);
  void synchronize();

  // What the recorder has noted so far.
  [[nodiscard]] int questions() const;  // without 2.31's about symmetric kernels
  [[nodiscard]] const testing::Question& question(int fromEnd = 0) const;
  [[nodiscard]] std::vector<const testing::Event*> events(uint64_t kind) const;
  [[nodiscard]] const testing::Event* lastColl() const;
  /// Waits until the progress thread has told of `n` channels, two seconds at most.
  [[nodiscard]] bool awaitKernels(size_t n) const;
  /// The AllReduce's pair as the profiler saw it: "RING/LL", or "none".
  [[nodiscard]] std::string pairRun() const;

  // Findings.
  void expect(bool holds, const char* format, ...) __attribute__((format(printf, 3, 4)));
  void note(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void notTestable(const char* why);

 private:
  void print(char kind, const char* text);

  testing::Place place_;
  int version_ = 0, made_ = 0;
  Library nccl_;
  testing::Recorder* recorder_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<testing::DeviceBuffer> buffer_;
  ncclComm_t comm_ = nullptr;
  std::FILE* file_ = nullptr;
};

/// This thread's id, as the recorder writes it.
[[nodiscard]] uint64_t thisThread();

}  // namespace autoccl::conformance
