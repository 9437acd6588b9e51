// What lies where in a rank's arena: the one piece of GPU memory that its peers can reach.
#pragma once

#include <cstdint>

#include "direct/kernels/arguments.h"
#include "model/config.h"
#include "model/task.h"

namespace autoccl::direct {

/// Flags of stream memory operations, 32 bits each, 64 bytes apart: one for each kind and peer.
enum class StreamFlag : uint32_t { kEntry, kFilled, kDrained, kFilled2, kDrained2 };
inline constexpr uint32_t kStreamFlags = 5;
inline constexpr uint64_t kStreamFlagStep = 64;

/// Offsets in bytes from the arena's start. From front to back: kernels' flags, streams' flags, two
/// halves of lines (a quarter of the whole), staging slots (the rest).
struct Arena {
  static constexpr uint64_t kMinimum = uint64_t{4} << 20;

  uint64_t streamFlags = 0;
  uint64_t lines = 0;
  uint64_t reach = 0;  // bytes of lines for each peer in a half
  uint64_t staging = 0;
  uint64_t stagingBytes = 0;
  uint64_t bytes = 0;

  /// `memory` bytes for a group of nRanks; at least kMinimum.
  [[nodiscard]] static Arena plan(uint64_t memory, int nRanks);
  [[nodiscard]] uint64_t streamFlag(StreamFlag kind, uint32_t from) const {
    return streamFlags + (uint64_t(kind) * kMaxRanks + from) * kStreamFlagStep;
  }
};

/// How a config is laid out for one call: pure, so alike on all ranks.
struct Geometry {
  uint32_t blocks = 1;
  uint32_t threads = 32;
  uint32_t chunk = 0;  // bytes; staged forms
  uint32_t depth = 0;  // slots for each peer and block, 0: it does not fit
  uint64_t slice = 0;  // two-shot: bytes that one rank reduces, a multiple of 16
};

/// One call as far as its layout depends on it. `piece`: bytes that a rank sends a peer.
struct Shape {
  Collective collective = Collective::kAllReduce;
  int nRanks = 2;
  uint64_t piece = 0;
};

/// Bytes of a piece of a task (Task::bytes counts all ranks' where a collective does).
[[nodiscard]] uint64_t pieceOf(const Task& task) noexcept;
/// The most bytes that a piece may have under LL or LL128.
[[nodiscard]] uint64_t mostInLines(const Arena& arena, Protocol protocol) noexcept;
/// depth is 0, or a piece is too long for lines: the config cannot run this call.
[[nodiscard]] Geometry geometryOf(const Arena& arena, const Shape& shape, const Config& config);
/// The engine has a way to do this at all: algorithm, protocol and transport suit the collective.
[[nodiscard]] bool suits(Collective collective, const Config& config) noexcept;

}  // namespace autoccl::direct
