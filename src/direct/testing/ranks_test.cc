#include "direct/testing/ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "direct/kernels/numbers.h"

namespace autoccl::direct::testing {
namespace {

/// By whatever type the elements have.
template <class Do>
auto withNumber(DataType type, const Do& once) {
  switch (type) {
#define ACCL_CASE(Type, ...) \
  case DataType::Type:       \
    return once(__VA_ARGS__{});
    ACCL_CASE(kInt8, Plain<int8_t>)
    ACCL_CASE(kUint8, Plain<uint8_t>)
    ACCL_CASE(kInt32, Plain<int32_t>)
    ACCL_CASE(kUint32, Plain<uint32_t>)
    ACCL_CASE(kInt64, Plain<int64_t>)
    ACCL_CASE(kUint64, Plain<uint64_t>)
    ACCL_CASE(kFloat16, Float16)
    ACCL_CASE(kBfloat16, Bfloat16)
    ACCL_CASE(kFloat64, Plain<double>)
    ACCL_CASE(kFloat8e4m3, Float8e4m3)
    ACCL_CASE(kFloat8e5m2, Float8e5m2)
#undef ACCL_CASE
    default:
      return once(Plain<float>{});
  }
}

bool isWhole(DataType type) {
  return type < DataType::kFloat16;
}
bool isSigned(DataType type) {
  return type != DataType::kUint8 && type != DataType::kUint32 && type != DataType::kUint64;
}

/// As the type would hold it after a store and a load.
double rounded(DataType type, double value) {
  char element[8] = {};
  setElementAt(type, element, 0, value);
  return elementAt(type, element, 0);
}

}  // namespace

std::span<const std::byte> anyImage() noexcept {
  static constexpr std::byte kImage[1] = {};
  return kImage;
}

const Cuda& cuda() {
  return *Cuda::find(true);  // the double, by our run path
}

Buffer::Buffer(uint64_t bytes) {
  cuda().check(cuda().memoryAlloc(&address_, std::max<uint64_t>(bytes, 1)), "a test's buffer");
}
Buffer::~Buffer() {
  cuda().memoryFree(address_);
}

void RankView::synchronize() const {
  cuda().check(cuda().streamSynchronize(stream), "waiting for a test's stream");
}

void useDevice(int ordinal) {
  int device = 0;
  CudaContext context = nullptr;
  cuda().check(cuda().deviceGet(&device, ordinal), "a test's device");
  cuda().check(cuda().primaryContextRetain(&context, device), "a test's context");
  cuda().contextSetCurrent(context);
}

CudaStream newStream() {
  CudaStream stream = nullptr;
  cuda().check(cuda().streamCreate(&stream, kStreamNonBlocking, 0), "a test's stream");
  return stream;
}

Seat seatOf(const UniqueId& meeting, int rank, int nRanks) {
  Seat seat;
  seat.meeting = meeting;
  seat.rank = rank;
  seat.nRanks = nRanks;
  seat.memory = Arena::kMinimum;
  seat.image = anyImage();
  return seat;
}

void runRanks(int nRanks, const std::function<void(RankView&)>& body) {
  const UniqueId meeting = newUniqueId();
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(nRanks));
  for (int rank = 0; rank < nRanks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        useDevice(rank);
        RankView view{rank, nRanks, nullptr, newStream()};
        {
          const auto group = Group::open(seatOf(meeting, rank, nRanks));
          view.group = group.get();
          body(view);
          view.synchronize();
        }
        cuda().streamDestroy(view.stream);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

std::vector<std::string> refusals(int nRanks) {
  const UniqueId meeting = newUniqueId();
  std::vector<std::string> why(static_cast<size_t>(nRanks));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(nRanks));
  for (int rank = 0; rank < nRanks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        useDevice(rank);
        (void)Group::open(seatOf(meeting, rank, nRanks));
      } catch (const std::exception& error) {
        why[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return why;
}

double elementAt(DataType type, const char* at, uint64_t index) {
  return withNumber(type, [&](auto number) {
    using Number = decltype(number);
    typename Number::Stored stored;
    memcpy(&stored, at + index * sizeof stored, sizeof stored);
    return static_cast<double>(Number::load(stored));
  });
}

void setElementAt(DataType type, char* at, uint64_t index, double value) {
  withNumber(type, [&](auto number) {
    using Number = decltype(number);
    using Value = typename Number::Value;
    typename Number::Stored stored{};
    if constexpr (std::is_integral_v<Value>)
      stored = static_cast<Value>(static_cast<int64_t>(value));  // wraps
    else
      stored = Number::store(static_cast<Value>(value));
    memcpy(at + index * sizeof stored, &stored, sizeof stored);
    return 0;
  });
}

uint64_t Sample::sendCount() const {
  const bool each =
      call.collective == Collective::kReduceScatter || call.collective == Collective::kAllToAll;
  return call.count * (each ? static_cast<uint64_t>(nRanks) : 1);
}
uint64_t Sample::recvCount() const {
  const bool each =
      call.collective == Collective::kAllGather || call.collective == Collective::kAllToAll;
  return call.count * (each ? static_cast<uint64_t>(nRanks) : 1);
}

double Sample::input(int rank, uint64_t index) const {
  const uint64_t mixed = (index * 31 + static_cast<uint64_t>(rank) * 17 + seed * 13) % 101;
  const auto small = static_cast<double>(mixed % 3);
  if (call.op == ReduceOp::kProd) return 1 + static_cast<double>(mixed % 2);
  return isSigned(call.dtype) && !isWhole(call.dtype) ? small - 1 : small;
}

double Sample::expected(int rank, uint64_t index) const {
  const uint64_t count = call.count;
  const auto own = static_cast<uint64_t>(rank);
  switch (call.collective) {
    case Collective::kBroadcast:
      return input(call.root, index);
    case Collective::kAllGather:
      return input(static_cast<int>(index / count), index % count);
    case Collective::kAllToAll:
      return input(static_cast<int>(index / count), own * count + index % count);
    default:
      break;
  }
  const uint64_t at = call.collective == Collective::kReduceScatter ? own * count + index : index;
  double value = 0;
  for (int r = 0; r < nRanks; ++r) {
    const double next = input(r, at) * (call.op == ReduceOp::kScaledSum ? call.scale : 1);
    if (r == 0)
      value = next;
    else if (call.op == ReduceOp::kProd)
      value *= next;
    else if (call.op == ReduceOp::kMax)
      value = std::max(value, next);
    else if (call.op == ReduceOp::kMin)
      value = std::min(value, next);
    else
      value += next;
  }
  if (call.op != ReduceOp::kAvg) return rounded(call.dtype, value);
  if (isWhole(call.dtype)) return std::trunc(rounded(call.dtype, value) / nRanks);
  if (call.dtype == DataType::kFloat64) return value / nRanks;
  return rounded(call.dtype, static_cast<float>(value) / static_cast<float>(nRanks));
}

void Sample::fill(int rank, char* send) const {
  for (uint64_t i = 0; i < sendCount(); ++i) setElementAt(call.dtype, send, i, input(rank, i));
}

std::string Sample::check(int rank, const char* recv) const {
  for (uint64_t i = 0; i < recvCount(); ++i) {
    const double got = elementAt(call.dtype, recv, i), want = expected(rank, i);
    if (got == want) continue;
    return std::string(toText(call.collective)) + " " + std::string(toText(call.dtype)) + " " +
           std::string(toText(call.op)) + " count " + std::to_string(call.count) + ": rank " +
           std::to_string(rank) + " of " + std::to_string(nRanks) + " has " + std::to_string(got) +
           " at " + std::to_string(i) + ", not " + std::to_string(want);
  }
  return "";
}

}  // namespace autoccl::direct::testing
