// The field's words as types. Text forms are what users read and write in configs, profiles, flags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace autoccl {

enum class Collective : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kAllToAllv,
  kAllGatherv,
  kReduceScatterv,
  kSendRecv,
  kBarrier
};
inline constexpr int kCollectives = 13;

enum class Algorithm : uint8_t {
  kRing,
  kTree,
  kHalvingDoubling,
  kOneShot,
  kTwoShot,
  kHierarchical,
  kCollnetDirect,  // this and the next four: NCCL's
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kUntouched  // whatever the engine does when nobody asks it for anything
};
inline constexpr int kAlgorithms = 12;

enum class Protocol : uint8_t { kLL, kLL128, kSimple, kZero };
inline constexpr int kProtocols = 4;

/// kAuto: the engine picks it, call by call (NCCL).
enum class Transport : uint8_t { kShm, kCma, kUcx, kP2p, kCe, kNet, kAuto };
inline constexpr int kTransports = 7;

enum class DataType : uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kFloat8e4m3,
  kFloat8e5m2
};
inline constexpr int kDataTypes = 14;
/// Of a task whose engine does not say (a tuner plugin): no element has it, so it is no enumerator.
inline constexpr auto kAnyDataType = static_cast<DataType>(kDataTypes);  // "any"

/// kScaledSum multiplies each rank's input by that rank's scalar, then sums (NCCL's PreMulSum).
enum class ReduceOp : uint8_t { kSum, kProd, kMax, kMin, kAvg, kScaledSum };
inline constexpr int kReduceOps = 6;
inline constexpr auto kAnyReduceOp = static_cast<ReduceOp>(kReduceOps);  // as kAnyDataType

[[nodiscard]] std::string_view toText(Collective) noexcept;  // "allreduce", "allgather", …
[[nodiscard]] std::string_view toText(
    Algorithm) noexcept;  // "ring", "tree", "hd", "oneshot", "twoshot", "hier", "nvls", …
[[nodiscard]] std::string_view toText(Protocol) noexcept;  // "ll", "ll128", "simple", "zero"
[[nodiscard]] std::string_view toText(
    Transport) noexcept;  // "shm", "cma", "ucx", "p2p", "ce", "net", "auto"
[[nodiscard]] std::string_view toText(DataType) noexcept;  // "float32", "bfloat16", …
[[nodiscard]] std::string_view toText(
    ReduceOp) noexcept;  // "sum", "prod", "max", "min", "avg", "scaledsum"

/// The value named by `text` (case matters not), or nothing.
template <class E>
[[nodiscard]] std::optional<E> fromText(std::string_view text) noexcept;
template <>
[[nodiscard]] std::optional<Collective> fromText(std::string_view) noexcept;
template <>
[[nodiscard]] std::optional<Algorithm> fromText(std::string_view) noexcept;
template <>
[[nodiscard]] std::optional<Protocol> fromText(std::string_view) noexcept;
template <>
[[nodiscard]] std::optional<Transport> fromText(std::string_view) noexcept;
template <>
[[nodiscard]] std::optional<DataType> fromText(std::string_view) noexcept;
template <>
[[nodiscard]] std::optional<ReduceOp> fromText(std::string_view) noexcept;

/// Bytes of one element; 1 of kAnyDataType.
[[nodiscard]] size_t sizeOf(DataType) noexcept;
/// True where ranks combine values (so that a reduction op matters).
[[nodiscard]] bool reduces(Collective) noexcept;
/// True where one rank is the root.
[[nodiscard]] bool rooted(Collective) noexcept;

/// Factor from algorithm bandwidth (nBytes/time) to bus bandwidth on n ranks, as nccl-tests defines
/// it: 2(n-1)/n AllReduce; (n-1)/n AllGather, ReduceScatter, AllToAll and the uneven forms; 1 else.
[[nodiscard]] double busFactor(Collective, int nRanks) noexcept;

}  // namespace autoccl
