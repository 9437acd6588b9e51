// Calls with known inputs and, by definition, known outputs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/call.h"

namespace autoccl::testing {

/// One collective of n ranks. Inputs follow from rank and position, so each rank can work out by
/// itself what it must end with.
struct SampleCall {
  Collective collective = Collective::kAllReduce;
  DataType dtype = DataType::kInt32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  int nRanks = 1;
  size_t count = 0;
  bool inPlace = false;

  [[nodiscard]] std::string text() const;
  /// Elements of the two buffers of a rank, gaps included.
  [[nodiscard]] size_t sendCount(int rank) const;
  [[nodiscard]] size_t recvCount(int rank) const;
  [[nodiscard]] std::vector<std::byte> input(int rank) const;
  /// What the receive buffer holds after the call if it held `before` and nothing else is touched.
  [[nodiscard]] std::vector<std::byte> expected(int rank, std::vector<std::byte> before) const;
  /// True if this form may run in place; then the send buffer lies this far inside the other one,
  /// or the receive buffer that far inside the send buffer.
  [[nodiscard]] bool canBeInPlace() const;
  [[nodiscard]] size_t recvInSend(int rank) const;  // elements
  [[nodiscard]] size_t sendInRecv(int rank) const;

  /// The four arrays of the uneven forms as rank `rank` passes them.
  struct Arrays {
    std::vector<size_t> sendCounts, sendDispls, recvCounts, recvDispls;
  };
  [[nodiscard]] Arrays arrays(int rank) const;

 private:
  [[nodiscard]] std::vector<std::byte> combined(size_t first, size_t n) const;
  void put(std::vector<std::byte>& out, size_t at, const std::vector<std::byte>& part) const;
  [[nodiscard]] std::vector<std::byte> slice(int rank, size_t first, size_t n) const;
};

/// Sets the buffers up (at an odd offset if `unaligned`), runs the call with `execute` and returns
/// an empty text, or what is wrong with the result. `allocate` gives memory of a kind (acclMemAlloc
/// or ordinary); it is the caller's.
template <class Execute, class Allocate>
std::string runSample(const SampleCall& sample, int rank, bool unaligned, const Execute& execute,
                      const Allocate& allocate);

}  // namespace autoccl::testing

#include "engine/testing/sample_call_run.h"
