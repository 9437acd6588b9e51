#include "tests/nccl_double/conformance/rank.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>

#include "edge/nccl/abi/profiler_events.h"

namespace autoccl::conformance {

using testing::driver;
using testing::must;

Library openLibrary(const char* file) {
  Library library;
  library.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    std::fprintf(stderr, "nccl_conformance: %s\n", dlerror());
    std::_Exit(2);
  }
#define AUTOCCL_NCCL_FIND(result, name, arguments) \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(library.handle, "nccl" #name));
  NCCL_DOUBLE_CALLS(AUTOCCL_NCCL_FIND)
#undef AUTOCCL_NCCL_FIND
  return library;
}

Rank::Rank(const testing::Place& place, const char* library, const char* recorder,
           const std::string& file)
    : place_(place), file_(std::fopen(file.c_str(), "w")) {
  if (file_ == nullptr) std::_Exit(2);
  std::setvbuf(file_, nullptr, _IOLBF, 0);
  int devices = 0;
  must(driver().cuDeviceGetCount(&devices), "devices");
  testing::useDevice(place.localRank % devices);
  must(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
  buffer_ = std::make_unique<testing::DeviceBuffer>(kMemory);
  must(driver().cuMemsetD8_v2(reinterpret_cast<uintptr_t>(buffer_->data()), 0, kMemory), "memory");
  nccl_ = openLibrary(library);
  must(nccl_.GetVersion(&version_) == ncclSuccess ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND, "version");
  void* plugin = dlopen(recorder, RTLD_NOW | RTLD_LOCAL);
  const auto find =
      plugin != nullptr
          ? reinterpret_cast<testing::Recorder* (*)()>(dlsym(plugin, "nccl_test_recorder"))
          : nullptr;
  if (find == nullptr) {
    std::fprintf(stderr, "nccl_conformance: the recorder %s cannot be opened\n", recorder);
    std::_Exit(2);
  }
  recorder_ = find();
  recorder_->wanted = nccl::kEventColl | nccl::kEventKernelCh;
}

Rank::~Rank() {
  std::fclose(file_);
}

ncclResult_t Rank::start(ncclComm_t* comm, Config* config) {
  const ncclUniqueId id = testing::sharedId(place_, made_++, nccl_.GetUniqueId);
  return config != nullptr ? nccl_.CommInitRankConfig(comm, size(), id, rank(), config)
                           : nccl_.CommInitRank(comm, size(), id, rank());
}

ncclComm_t Rank::begin(Config* config) {
  const ncclResult_t result = start(&comm_, config);
  if (result != ncclSuccess) {
    note("init: %s: %s", nccl_.GetErrorString(result), nccl_.GetLastError(nullptr));
    print('N', "the communicator could not be made");
    std::fclose(file_);
    std::_Exit(0);
  }
  return comm_;
}

void Rank::finish() {
  if (comm_ != nullptr) nccl_.CommDestroy(comm_);
  comm_ = nullptr;
}

ncclResult_t Rank::allReduce(size_t bytes) {
  const ncclResult_t result = nccl_.AllReduce(memory(), memory(), bytes / sizeof(float),
                                              ncclFloat32, ncclSum, comm_, stream_);
  if (result == ncclSuccess) synchronize();
  return result;
}

void Rank::synchronize() {
  must(driver().cuStreamSynchronize(stream_), "stream");
}

int Rank::questions() const {
  int n = 0;
  for (int i = 0; i < recorder_->nQuestions; ++i) n += recorder_->questions[i].pipeOps > 0 ? 1 : 0;
  return n;
}

const testing::Question& Rank::question(int fromEnd) const {
  static const testing::Question kNone;
  for (int i = recorder_->nQuestions - 1; i >= 0; --i)
    if (recorder_->questions[i].pipeOps > 0 && fromEnd-- == 0) return recorder_->questions[i];
  return kNone;
}

std::vector<const testing::Event*> Rank::events(uint64_t kind) const {
  std::vector<const testing::Event*> found;
  for (int i = 0; i < recorder_->nEvents; ++i)
    if (recorder_->events[i].kind == kind) found.push_back(&recorder_->events[i]);
  return found;
}

const testing::Event* Rank::lastColl() const {
  const auto colls = events(nccl::kEventColl);
  return colls.empty() ? nullptr : colls.back();
}

bool Rank::awaitKernels(size_t n) const {
  for (int i = 0; i < 2000; ++i) {
    size_t stopped = 0;
    for (const auto* event : events(nccl::kEventKernelCh)) stopped += event->stopped ? 1 : 0;
    if (stopped >= n) return true;
    usleep(1000);
  }
  return false;
}

std::string Rank::pairRun() const {
  const testing::Event* coll = lastColl();
  return coll != nullptr ? std::string(coll->algo) + "/" + coll->proto : "none";
}

void Rank::print(char kind, const char* text) {
  std::fprintf(file_, "%c rank %d: %s\n", kind, rank(), text);
}

void Rank::expect(bool holds, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  print(holds ? 'C' : 'R', text);
}

void Rank::note(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  print('I', text);
}

void Rank::notTestable(const char* why) {
  print('N', why);
}

uint64_t thisThread() {
  return static_cast<uint64_t>(syscall(SYS_gettid));
}

}  // namespace autoccl::conformance
