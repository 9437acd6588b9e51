#pragma once

#include <algorithm>
#include <cstring>

#include "engine/testing/sample_call.h"

namespace autoccl::testing {

template <class Execute, class Allocate>
std::string runSample(const SampleCall& sample, int rank, bool unaligned, const Execute& execute,
                      const Allocate& allocate) {
  constexpr size_t kGuard = 64;
  constexpr std::byte kGuardByte{0x5a};
  const size_t size = sizeOf(sample.dtype), shift = unaligned ? size : 0;
  const std::vector<std::byte> input = sample.input(rank);
  const size_t recvBytes = sample.recvCount(rank) * size;
  const bool inPlace = sample.inPlace && sample.canBeInPlace();
  const size_t whole = std::max(input.size(), recvBytes) + 2 * kGuard + shift;
  std::byte* const first = static_cast<std::byte*>(allocate(whole));
  std::byte* const second = inPlace ? first : static_cast<std::byte*>(allocate(whole));
  std::fill_n(first, whole, kGuardByte);
  std::fill_n(second, whole, kGuardByte);
  std::byte* send = first + kGuard + shift;
  std::byte* recv = second + kGuard + shift;
  if (inPlace) {
    send += sample.sendInRecv(rank) * size;
    recv += sample.recvInSend(rank) * size;
  }
  if (!input.empty()) std::memcpy(send, input.data(), input.size());
  const std::vector<std::byte> want = sample.expected(rank, {recv, recv + recvBytes});

  const SampleCall::Arrays arrays = sample.arrays(rank);
  Call call;
  call.collective = sample.collective;
  call.dtype = sample.dtype;
  call.op = sample.op;
  call.root = sample.root;
  call.send = send;
  call.recv = recv;
  call.count = sample.count;
  call.scale = rank % 2 + 1;
  if (uneven(sample.collective)) {
    call.sendCounts = arrays.sendCounts.data();
    call.sendDispls = arrays.sendDispls.data();
    call.recvCounts = arrays.recvCounts.data();
    call.recvDispls = arrays.recvDispls.data();
  }
  if (!execute(call)) return sample.text() + ": the call failed";
  const std::vector<std::byte> got(recv, recv + recvBytes);
  const auto [wrong, right] = std::mismatch(got.begin(), got.end(), want.begin());
  if (wrong != got.end())
    return sample.text() + ": rank " + std::to_string(rank) + " differs at byte " +
           std::to_string(wrong - got.begin()) + " of " + std::to_string(got.size()) + ": " +
           std::to_string(static_cast<int>(*wrong)) + " for " +
           std::to_string(static_cast<int>(*right));
  const bool clean =
      std::all_of(second, second + kGuard, [&](std::byte b) { return b == kGuardByte; }) &&
      std::all_of(second + whole - kGuard, second + whole,
                  [&](std::byte b) { return b == kGuardByte; });
  return clean ? "" : sample.text() + ": bytes outside the buffer were touched";
}

}  // namespace autoccl::testing
