#include "tests/nccl_double/trace.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdlib>
#include <string>

#include "tests/nccl_double/bootstrap.h"
#include "tests/nccl_double/comm.h"

namespace autoccl::nccl_double {

Trace::~Trace() {
  if (file_ != nullptr) {
    std::fprintf(file_, "end calls=%" PRIu64 " digest=%016" PRIx64 "\n", calls_, digest_);
    std::fclose(file_);
  }
}

void Trace::open(const ncclComm& comm) {
  const char* folder = std::getenv("NCCL_DOUBLE_TRACE");
  if (folder == nullptr) return;
  char name[64];
  std::snprintf(name, sizeof name, "/%016" PRIx64 "-%d", comm.commHash, comm.rank);
  file_ = std::fopen((folder + std::string(name)).c_str(), "w");
  if (file_ == nullptr) return;
  std::setvbuf(file_, nullptr, _IOLBF, 0);
  std::fprintf(file_, "comm rank=%d ranks=%d pid=%d threshold=%lld buffer=%lld way=%s\n", comm.rank,
               comm.nRanks, getpid(),
               static_cast<long long>(comm.limits.thresholds[nccl::kAlgoRing][nccl::kProtoSimple]),
               static_cast<long long>(comm.limits.buffBytes[nccl::kProtoSimple]),
               nameOfWay(comm.machine.way));
}

void Trace::answer(const Answer& a) {
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr)
    std::fprintf(file_,
                 "tuner func=%s bytes=%zu asked=%d limit=%d touched=%d changed=%d simulated=%d "
                 "default=%s chosen=%s\n",
                 nameOfFunc(a.func), a.nBytes, a.channelsAsked, a.channelLimit, a.touched,
                 a.changed, a.simulated, a.fallback, a.chosen);
}

void Trace::call(const CollTask& t) {
  const std::lock_guard lock(mutex_);
  const uint64_t fields[] = {static_cast<uint64_t>(t.func),     t.count * t.elementBytes,
                             static_cast<uint64_t>(t.algo),     static_cast<uint64_t>(t.proto),
                             static_cast<uint64_t>(t.channels), t.chunk};
  digest_ = hashOf(fields, sizeof fields, digest_);
  if (file_ != nullptr)
    std::fprintf(
        file_, "call %" PRIu64 " %s bytes=%zu %s/%s nc=%d nt=%d chunk=%zu digest=%016" PRIx64 "\n",
        calls_, nameOfFunc(t.func), t.count * t.elementBytes, nameOfAlgo(t.algo),
        nameOfProto(t.proto), t.channels, t.warps * 32, t.chunk, digest_);
  noteMeasuring();
  ++calls_;
}

/// One line a call in which somebody began to measure, by events of the profiler or of CUDA.
void Trace::noteMeasuring() {
  const uint64_t events = profilerEvents();
  const uint64_t timings = cuda().doubleTimings != nullptr ? cuda().doubleTimings() : 0;
  if (file_ != nullptr && (events != events_ || timings != timings_))
    std::fprintf(file_, "measured before %" PRIu64 ": events=%" PRIu64 " timings=%" PRIu64 "\n",
                 calls_, events - events_, timings - timings_);
  events_ = events;
  timings_ = timings;
}

void Trace::chunk(size_t incoming, size_t answered, size_t grain, size_t most) {
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr && incoming != answered)
    std::fprintf(file_, "chunk incoming=%zu answered=%zu grain=%zu most=%zu\n", incoming, answered,
                 grain, most);
}

void Trace::event(const char* what) {
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr) std::fprintf(file_, "%s\n", what);
}

uint64_t Trace::digest() const {
  const std::lock_guard lock(mutex_);
  return digest_;
}
uint64_t Trace::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

}  // namespace autoccl::nccl_double
