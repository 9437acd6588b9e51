// What a step plan needs of a transport: ordered messages between pairs of ranks, in lanes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "transport/wait.h"

namespace autoccl {

/// Fixed at set-up, equal on all ranks.
struct WireGeometry {
  int nRanks = 1;
  int lanes = 16;                 // most lanes that one call may use
  size_t pairBytes = 4 << 20;     // slots of one ordered pair of ranks, shared out among its lanes
  size_t llLaneBytes = 32 << 10;  // LL lines of one lane of one pair

  [[nodiscard]] size_t pairs() const noexcept { return pair(nRanks, 0); }
  [[nodiscard]] size_t pair(int from, int to) const noexcept {
    return static_cast<size_t>(from) * static_cast<size_t>(nRanks) + static_cast<size_t>(to);
  }
  /// Place of a lane of the i-th pair (or peer) among all lanes.
  [[nodiscard]] size_t laneOf(size_t i, int lane) const noexcept {
    return i * static_cast<size_t>(lanes) + static_cast<size_t>(lane);
  }
};

/// How the area of a pair is cut for a call; equal on all ranks of the call.
struct WireLayout {
  int lanes = 1;
  int lanesPerBell = 1;   // lanes that one thread serves
  size_t slotBytes = 64;  // largest message; a multiple of 64
};

/// A rank's buffers in this call: for a zero-copy wire as mapped here, for cma as addresses in
/// process `pid`.
struct PeerBuffers {
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  pid_t pid = 0;
};

/// A received message: its bytes in one piece (packed), or left where the sender has them. There
/// the pieces lie as they do in this rank's buffer of the same side.
struct Incoming {
  enum class Where : uint8_t { kPacked, kMapped, kRemote };
  Where where = Where::kPacked;
  const std::byte* first = nullptr;  // kRemote: an address of the sender's process
  bool sendSide = false;             // not packed: in the sender's send buffer, else receive buffer
  pid_t pid = 0;
};

/// One rank's end of FIFO queues to and from every other rank, kSlots messages deep, `lanes` wide.
/// Both ends agree on the sequence and the sizes of messages without telling each other.
///
/// Sender: canSend; then either fill slot() and post(), or publish() a place in a user buffer.
/// Receiver: canReceive; peek() or fetch(); release(), after which the sender may reuse the place.
/// Threads: one thread a lane and direction pair at a time; open() while no lane is at work.
/// HOT: no allocation, lock or log; system calls only to wake a sleeper and to read by CMA.
class Wire {
 public:
  static constexpr uint32_t kSlots = 4;

  virtual ~Wire() = default;

  /// Prepares for a call. Waits for messages of an earlier call in another layout to be received.
  /// False: the rules ended the wait.
  [[nodiscard]] virtual bool open(const WireLayout& layout, const WaitRules& rules) noexcept = 0;

  [[nodiscard]] virtual bool canSend(int to, int lane) noexcept = 0;
  [[nodiscard]] virtual std::byte* slot(int to, int lane) noexcept = 0;
  virtual void post(int to, int lane, size_t bytes) noexcept = 0;
  /// True if publish() is allowed.
  [[nodiscard]] virtual bool publishes() const noexcept { return false; }
  /// Sends what lies at `offset` of this rank's send or receive buffer without moving it. It must
  /// stay as it is until idle().
  virtual void publish(int to, int lane, bool sendSide, uint64_t offset) noexcept = 0;
  /// True if everything sent was received and released.
  [[nodiscard]] virtual bool idle(int to, int lane) noexcept = 0;

  [[nodiscard]] virtual bool canReceive(int from, int lane, size_t bytes) noexcept = 0;
  [[nodiscard]] virtual Incoming peek(int from, int lane, size_t bytes) noexcept = 0;
  virtual void release(int from, int lane) noexcept = 0;
};

/// Reads `bytes` of another process (or this one). False: it is gone or does not allow it.
[[nodiscard]] bool readRemote(pid_t pid, const std::byte* remote, std::byte* here,
                              size_t bytes) noexcept;

}  // namespace autoccl
