#include "ranks.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace train {

Ranks::Ranks(int slots) : done_(static_cast<size_t>(slots)) {
  check(acclCommInitFromEnv(&comm_), "acclCommInitFromEnv");
  check(acclCommUserRank(comm_, &rank_), "acclCommUserRank");
  check(acclCommCount(comm_, &size_), "acclCommCount");
  check(acclStreamCreate(&stream_), "acclStreamCreate");
  for (acclEvent_t& event : done_) check(acclEventCreate(&event), "acclEventCreate");
}

Ranks::~Ranks() {
  for (acclEvent_t event : done_) acclEventDestroy(event);
  acclStreamDestroy(stream_);
  acclCommDestroy(comm_);
}

void Ranks::check(acclResult_t result, const char* call) const {
  if (result == acclSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + acclGetErrorString(result) + ": " +
                           acclGetLastError(comm_));
}

void Ranks::markStep() {
  check(acclStepMark(comm_), "acclStepMark");
}

void Ranks::broadcast(std::span<float> values) {
  check(acclBroadcast(values.data(), values.data(), values.size(), acclFloat32, 0, comm_, stream_),
        "acclBroadcast");
  check(acclStreamSynchronize(stream_), "acclStreamSynchronize");
}

void Ranks::beginAverage(int slot, std::span<float> values) {
  check(acclAllReduce(values.data(), values.data(), values.size(), acclFloat32, acclAvg, comm_,
                      stream_),
        "acclAllReduce");
  check(acclEventRecord(done_[static_cast<size_t>(slot)], stream_), "acclEventRecord");
}

void Ranks::wait(int slot) {
  check(acclEventSynchronize(done_[static_cast<size_t>(slot)]), "acclEventSynchronize");
  acclResult_t failure = acclSuccess;
  check(acclCommGetAsyncError(comm_, &failure), "acclCommGetAsyncError");
  check(failure, "acclAllReduce");
}

double Ranks::average(double value) {
  check(acclAllReduce(&value, &value, 1, acclFloat64, acclAvg, comm_, stream_), "acclAllReduce");
  check(acclStreamSynchronize(stream_), "acclStreamSynchronize");
  return value;
}

std::vector<uint64_t> Ranks::gather(uint64_t value) {
  std::vector<uint64_t> all(static_cast<size_t>(size_));
  check(acclAllGather(&value, all.data(), 1, acclUint64, comm_, stream_), "acclAllGather");
  check(acclStreamSynchronize(stream_), "acclStreamSynchronize");
  return all;
}

namespace {

float* sharedFloats(size_t count) {
  void* memory = nullptr;
  if (acclMemAlloc(&memory, count * sizeof(float)) != acclSuccess)
    throw std::runtime_error(acclGetLastError(nullptr));
  return static_cast<float*>(memory);
}

float* ownFloats(size_t count) {
  constexpr size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (count * sizeof(float) + kPage - 1) / kPage * kPage);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<float*>(memory);
}

}  // namespace

FloatBuffer::FloatBuffer(size_t count, bool shared)
    : count_(count),
      memory_(
          shared ? sharedFloats(count) : ownFloats(count),
          shared ? [](float* p) { acclMemFree(p); } : [](float* p) { std::free(p); }) {
  std::fill_n(memory_.get(), count, 0.0f);
}

}  // namespace train
