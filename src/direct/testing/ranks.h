// Ranks of the GPU engine as threads of a test, each with a device of the driver's double.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "direct/group.h"

namespace autoccl::direct::testing {

/// The double takes any image that is not null for the table of host kernels.
[[nodiscard]] std::span<const std::byte> anyImage() noexcept;

/// Device memory that frees itself.
class Buffer {
 public:
  explicit Buffer(uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] char* data() const noexcept { return reinterpret_cast<char*>(address_); }

 private:
  DevicePtr address_ = 0;
};

/// One rank in a test: its group and its stream.
struct RankView {
  int rank = 0;
  int nRanks = 0;
  Group* group = nullptr;
  CudaStream stream = nullptr;

  void synchronize() const;
};

[[nodiscard]] const Cuda& cuda();
/// Makes device `ordinal` current in this thread.
void useDevice(int ordinal);
[[nodiscard]] CudaStream newStream();
[[nodiscard]] Seat seatOf(const UniqueId& meeting, int rank, int nRanks);

/// Runs `body` on nRanks threads; the first exception of any is thrown again.
void runRanks(int nRanks, const std::function<void(RankView&)>& body);
/// Why ranks that try to open a group cannot, one text a rank; empty where they can.
[[nodiscard]] std::vector<std::string> refusals(int nRanks);

/// Elements as numbers: small whole ones are exact in every type.
[[nodiscard]] double elementAt(DataType type, const char* at, uint64_t index);
void setElementAt(DataType type, char* at, uint64_t index, double value);

/// What ranks put in, and what must come out of a call; exact for the values used here.
struct Sample {
  Call call;  // without buffers
  int nRanks = 2;
  uint64_t seed = 0;

  [[nodiscard]] uint64_t sendCount() const;
  [[nodiscard]] uint64_t recvCount() const;
  [[nodiscard]] double input(int rank, uint64_t index) const;
  [[nodiscard]] double expected(int rank, uint64_t index) const;
  void fill(int rank, char* send) const;
  /// Empty, or what is wrong first.
  [[nodiscard]] std::string check(int rank, const char* recv) const;
};

}  // namespace autoccl::direct::testing
