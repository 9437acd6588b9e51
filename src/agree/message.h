// What members of one communicator say to each other, and its form on the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "agree/agreement.h"
#include "model/call_sample.h"

namespace autoccl {

/// One entry of a task's table: from this call index on, this config.
struct TableEntry {
  uint64_t fromCall = 0;
  Config config;
  friend bool operator==(const TableEntry&, const TableEntry&) = default;
};

/// The rolling hash of the (task, index) sequence after `calls` calls, a multiple of kHashPeriod.
struct SequenceHash {
  uint64_t calls = 0;
  uint64_t hash = 0;
  friend bool operator==(const SequenceHash&, const SequenceHash&) = default;
};
inline constexpr uint64_t kHashPeriod = 64;

struct Join {
  MemberDigest digest;
  uint32_t nRanks = 0;
};
struct Joined {};
struct Off {
  std::string reason;
};
/// Version v changes these tables at these calls. entries.front().fromCall is the fence.
struct Prepare {
  struct TaskChange {
    uint64_t taskKey = 0;
    std::vector<TableEntry> entries;  // ascending, never empty
    [[nodiscard]] uint64_t fence() const { return entries.front().fromCall; }
  };
  uint64_t version = 0;
  bool freeze = false;
  std::vector<TaskChange> tasks;
};
/// nextIndex[i]: calls of task i that this rank has taken, read after the fences stood.
struct Ack {
  uint64_t version = 0;
  std::vector<uint64_t> nextIndex;
  std::vector<SequenceHash> hashes;
  bool veto = false;
  std::string reason;  // of a veto
};
struct Verdict {
  uint64_t version = 0;
  bool commit = false;
};
/// The verdict is in force here. waited: a call had to wait for it.
struct Settled {
  uint64_t version = 0;
  bool commit = false;
  bool waited = false;
};
/// A rank in doubt asks a member what it knows of version v.
struct Ask {
  uint64_t version = 0;
};
enum class Knowledge : uint8_t {
  kCommit,
  kAbort,    // settled so, or never acknowledged and promised not to
  kInDoubt,  // acknowledged, no verdict yet
};
struct Tell {
  uint64_t version = 0;
  Knowledge knowledge = Knowledge::kInDoubt;
};
/// What a worker's calls took, for the leader. Beside the protocol: it may be lost, and the gap
/// between `before` and the samples received says how many were.
struct Samples {
  uint64_t before = 0;  // samples this rank took before these, sent or not
  RankSums sums;
  std::vector<CallSample> calls;
};
/// What the leader says of sampling, for every worker. Beside the protocol as well.
struct Notice {
  uint64_t skipMask = 0;      // calls whose index has one of these bits are not sampled
  uint64_t settledTasks = 0;  // tasks the leader knows, if none is being searched; SampleBoard's
  bool ready = false;         // the files that ranks of the leader's host open are there
  friend bool operator==(const Notice&, const Notice&) = default;
};
/// Bytes of a step that ranks take together outside the protocol (exchange.h).
struct Parcel {
  uint32_t step = 0;
  std::vector<uint8_t> bytes;
  friend bool operator==(const Parcel&, const Parcel&) = default;
};
using Message = std::variant<Join, Joined, Off, Prepare, Ack, Verdict, Settled, Ask, Tell, Samples,
                             Notice, Parcel>;

// Bounds of one message; a reader refuses more, propose() does too.
inline constexpr size_t kMaxTasksPerPrepare = 1024;
inline constexpr size_t kMaxEntriesPerPrepare = 8192;
inline constexpr size_t kMaxText = 512;
inline constexpr size_t kMaxHashes = 8;
inline constexpr size_t kMaxSamples = 512;
inline constexpr size_t kMaxParcel = 4096;

/// Type and body as bytes, little-endian: the body of a frame (frame.h).
struct Packed {
  uint8_t type = 0;
  std::vector<uint8_t> body;
};
[[nodiscard]] Packed pack(const Message& message);

/// Nothing unless `body` is exactly one message of that type with every field in its range.
[[nodiscard]] std::optional<Message> unpack(uint8_t type, std::span<const uint8_t> body);

}  // namespace autoccl
