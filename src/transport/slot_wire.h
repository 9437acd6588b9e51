// Simple, Zero and CMA: messages in slots of shared memory, or left in the sender's buffer.
#pragma once

#include <atomic>
#include <vector>

#include "transport/doorbell.h"
#include "transport/wire.h"

namespace autoccl {

/// Each lane of an ordered pair has two counters on cache lines of their own, messages sent and
/// messages released, and kSlots slots. Slots are cut from the pair's area by the call's layout, so
/// any chunk and any number of lanes that fit are possible at every call; only a change of layout
/// waits for the queues to run dry.
///
/// Modes. kStaged: every message passes through a slot (one copy in, one out). kZero: a message
/// that lies in a user buffer is read there, since that memory is mapped in all ranks. kCma: the
/// same with process_vm_readv. In both, partial sums that lie nowhere still use slots. Memory:
/// requiredBytes, zeroed, 64-byte aligned, mapped by all ranks; the caller owns it. Thread rules
/// and errors: see Wire.
class SlotWire final : public Wire {
 public:
  enum class Mode : uint8_t { kStaged, kZero, kCma };

  [[nodiscard]] static size_t requiredBytes(const WireGeometry& g) noexcept;
  SlotWire(std::byte* shared, const WireGeometry& g, int rank, Doorbells bells);

  /// For the calls that follow; `peers` (nRanks entries, not for kStaged) must outlive them.
  void setMode(Mode mode, const PeerBuffers* peers) noexcept {
    mode_ = mode;
    peers_ = peers;
  }
  [[nodiscard]] static bool fits(const WireGeometry& g, const WireLayout& layout) noexcept;

  [[nodiscard]] bool open(const WireLayout& layout, const WaitRules& rules) noexcept override;
  [[nodiscard]] bool canSend(int to, int lane) noexcept override;
  [[nodiscard]] std::byte* slot(int to, int lane) noexcept override;
  void post(int to, int lane, size_t bytes) noexcept override;
  [[nodiscard]] bool publishes() const noexcept override { return mode_ != Mode::kStaged; }
  void publish(int to, int lane, bool sendSide, uint64_t offset) noexcept override;
  [[nodiscard]] bool idle(int to, int lane) noexcept override;
  [[nodiscard]] bool canReceive(int from, int lane, size_t bytes) noexcept override;
  [[nodiscard]] Incoming peek(int from, int lane, size_t bytes) noexcept override;
  void release(int from, int lane) noexcept override;

 private:
  struct alignas(64) Counter {
    std::atomic<uint32_t> value{0};
  };
  enum class Kind : uint32_t { kSlot, kSendSide, kRecvSide };
  struct Note {
    uint64_t offset;
    Kind kind;
    uint32_t unused;
  };
  struct alignas(64) Lane {  // shared, per ordered pair and lane
    Counter sent;
    Counter released;
    Note notes[kSlots];
  };
  static_assert(sizeof(Lane) == 192);
  struct alignas(64) End {  // this rank's own view of a peer and lane
    uint32_t sent = 0;
    uint32_t seenReleased = 0;
    uint32_t received = 0;
  };

  [[nodiscard]] Lane& shared(int from, int to, int lane) const noexcept;
  [[nodiscard]] std::byte* slotAt(int from, int to, int lane, uint32_t sequence) const noexcept;
  [[nodiscard]] End& end(int peer, int lane) noexcept {
    return ends_[g_.laneOf(static_cast<size_t>(peer), lane)];
  }
  void send(int to, int lane, Note note) noexcept;

  WireGeometry g_;
  int rank_;
  Lane* lanes_;
  std::byte* areas_;
  Doorbells bells_;
  WireLayout layout_;
  Mode mode_ = Mode::kStaged;
  const PeerBuffers* peers_ = nullptr;
  std::vector<End> ends_;
};

}  // namespace autoccl
