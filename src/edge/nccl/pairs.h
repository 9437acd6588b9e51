// NCCL's algorithms, protocols and functions against the words of the model: the one table of both.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "edge/nccl/abi/common.h"
#include "model/config.h"

namespace autoccl::nccl {

/// One entry of the cost table.
struct Pair {
  int algo = kAlgoUndefined;
  int proto = kProtoUndefined;

  friend bool operator==(const Pair&, const Pair&) = default;
};

/// A set of pairs, as Task::variant carries it: bit algo x 3 + proto.
using PairSet = uint32_t;
[[nodiscard]] constexpr PairSet bitOf(Pair p) noexcept {
  return PairSet{1} << (p.algo * kProtos + p.proto);
}
[[nodiscard]] constexpr bool holds(PairSet set, Pair p) noexcept {
  return (set & bitOf(p)) != 0;
}

/// Of a task whose calls can be run on variants: calls of one kind that can and that cannot are
/// tasks of their own, so ranks that differ in that are seen to.
inline constexpr PairSet kSwitchable = PairSet{1} << 31;

/// The model's word for row `algo` (0 to 6) and column `proto` (0 to 2) of the table.
[[nodiscard]] Algorithm algorithmOf(int algo) noexcept;
[[nodiscard]] Protocol protocolOf(int proto) noexcept;
/// The pair that a config asks for; nothing for kUntouched and for what NCCL does not have.
[[nodiscard]] std::optional<Pair> pairOf(const Config& config) noexcept;
/// The same from the profiler's names ("NVLS_TREE", "SIMPLE"); nothing for names not known.
[[nodiscard]] std::optional<Pair> pairNamed(const char* algo, const char* proto) noexcept;
/// The config is the GPU engine's, not NCCL's.
[[nodiscard]] constexpr bool onGpuEngine(const Config& config) noexcept {
  return config.transport == Transport::kP2p || config.transport == Transport::kCe;
}
/// A config that asks for the pair and leaves the rest to NCCL.
[[nodiscard]] Config configOf(Pair pair) noexcept;

/// Nothing for functions that never reach a tuner.
[[nodiscard]] std::optional<Collective> collectiveOf(int func) noexcept;
/// The profiler's "AllReduce" as a number of abi/common.h; -1 for others.
[[nodiscard]] int funcNamed(const char* name) noexcept;
/// Bytes of an element of the profiler's "ncclFloat32"; 0 for names not known.
[[nodiscard]] uint64_t elementBytes(const char* dtype) noexcept;
/// nBytes as a tuner is told them, from a collective's count: AllGather and ReduceScatter count
/// the total over ranks.
[[nodiscard]] uint64_t tunerBytes(int func, uint64_t count, uint64_t element, int nRanks) noexcept;

/// Runs in several pieces with one channel count for the whole (CollNet; NVLS over nodes): NCCL
/// checks no upper bound there.
[[nodiscard]] constexpr bool isSwitchBased(int algo) noexcept {
  return algo == kAlgoCollnetDirect || algo == kAlgoCollnetChain || algo == kAlgoNvls ||
         algo == kAlgoNvlsTree;
}

}  // namespace autoccl::nccl
