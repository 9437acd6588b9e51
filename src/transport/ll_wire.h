// LL: data and flag travel in the same cache line, so a small message costs one line transfer.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "transport/doorbell.h"
#include "transport/wire.h"

namespace autoccl {

/// A line is 60 bytes of data and a 4-byte flag, the message's number in its lane. The receiver
/// knows which number comes next and which lines it fills; a line with another number has not
/// arrived. Lines of a lane are never used for anything else, so what stands in a flag's place is
/// always an older number.
///
/// Numbers run through 1 … 2^32 - 1. Before they start again, the sender waits until the lane is
/// empty, and the receiver, with the last of the old numbers, zeroes the lane's flags: so no line
/// from 2^32 messages ago is ever taken for a new one.
/// Messages are packed from and unpacked into private memory of the size of a slot.
/// Memory and thread rules: as SlotWire.
class LlWire final : public Wire {
 public:
  static constexpr size_t kLineData = 60;

  [[nodiscard]] static size_t requiredBytes(const WireGeometry& g) noexcept;
  /// `firstMessage` is the number of messages that all lanes are to believe were sent before: a
  /// test's way to the wrap.
  LlWire(std::byte* shared, const WireGeometry& g, int rank, Doorbells bells,
         uint64_t firstMessage = 0);

  [[nodiscard]] static bool fits(const WireGeometry& g, const WireLayout& layout) noexcept;

  [[nodiscard]] bool open(const WireLayout& layout, const WaitRules& rules) noexcept override;
  [[nodiscard]] bool canSend(int to, int lane) noexcept override;
  [[nodiscard]] std::byte* slot(int to, int lane) noexcept override;
  void post(int to, int lane, size_t bytes) noexcept override;
  void publish(int, int, bool, uint64_t) noexcept override {}
  [[nodiscard]] bool idle(int to, int lane) noexcept override;
  [[nodiscard]] bool canReceive(int from, int lane, size_t bytes) noexcept override;
  [[nodiscard]] Incoming peek(int from, int lane, size_t bytes) noexcept override;
  void release(int from, int lane) noexcept override;

 private:
  struct alignas(64) Line {
    std::byte data[kLineData];
    std::atomic<uint32_t> flag;
  };
  static_assert(sizeof(Line) == 64);
  struct alignas(64) Counter {
    std::atomic<uint32_t> value{0};
  };
  struct alignas(64) End {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint32_t seenReleased = 0;
  };

  [[nodiscard]] size_t index(int from, int to, int lane) const noexcept {
    return g_.laneOf(g_.pair(from, to), lane);
  }
  [[nodiscard]] Line* lines(int from, int to, int lane, uint64_t sequence) const noexcept;
  [[nodiscard]] End& end(int peer, int lane) noexcept {
    return ends_[g_.laneOf(static_cast<size_t>(peer), lane)];
  }
  void zeroFlags(int from, int lane) noexcept;

  WireGeometry g_;
  int rank_;
  Counter* released_;
  std::byte* areas_;
  Doorbells bells_;
  WireLayout layout_;
  size_t slotLines_ = 1;
  size_t privateBytes_;  // of one lane and direction
  std::vector<End> ends_;
  std::unique_ptr<std::byte[]> outgoing_;  // one slot a peer and lane; untouched until used
  std::unique_ptr<std::byte[]> incoming_;
};

}  // namespace autoccl
