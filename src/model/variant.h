// The extra parameter of NCCL: on which communicator a call runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/types.h"

namespace autoccl {

/// What NCCL fixes when it makes a communicator cannot change from call to call, so a second
/// communicator of the same ranks is made for it: a variant. Numbers and names are stable: they
/// stand in profiles. What each of them sets is the table of edge/nccl/variant_table.h.
enum class Variant : uint8_t {
  kOwn,             // the user's own communicator
  kFewThreads,      // as few channels and threads in a channel as a call's bytes allow
  kAllThreads,      // always the most channels and threads
  kSmallBuffers,    // 1 MiB of buffer for each connection with Simple: chunks of a quarter
  kLargeBuffers,    // 16 MiB: chunks four times as large
  kShm,             // no peer-to-peer copies between GPUs: shared memory
  kNet,             // neither: the network, inside a host too
  kFourQueuePairs,  // InfiniBand: four queue pairs a connection
  kSplitOverPairs,  // the same, each message cut over them
  kDirectAnywhere,  // GPUDirect RDMA also to adapters far away
  kDirectNowhere,   // no GPUDirect RDMA
  kSocketThreads,   // TCP: four threads a connection
  kManySockets,     // TCP: four sockets for each of four threads
  kRingLL,          // this and the next three: a pair of its own, for releases without a tuner
  kRingSimple,
  kTreeLL,
  kTreeSimple
};
inline constexpr int kVariants = 17;

/// Kinds of variants that a user can ask for, separated by '|'.
inline constexpr std::string_view kVariantWords = "threads|buffers|transport|infiniband|sockets";
/// The first word of the list (between commas) that is none of them; empty where all are.
[[nodiscard]] std::string_view unknownVariantWord(std::string_view list) noexcept;

/// A set of variants: bit i for number i.
using VariantSet = uint32_t;
[[nodiscard]] constexpr VariantSet bitOf(Variant v) noexcept {
  return VariantSet{1} << static_cast<unsigned>(v);
}

[[nodiscard]] std::string_view toText(Variant) noexcept;  // "own", "few-threads", …
template <>
[[nodiscard]] std::optional<Variant> fromText(std::string_view) noexcept;

}  // namespace autoccl
