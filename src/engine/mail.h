// Send and receive: a mailbox for each ordered pair of ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/layout.h"
#include "transport/wait.h"

namespace autoccl {

/// One send or receive. Of two letters with one peer and direction, the first goes first.
struct Letter {
  bool isSend = false;
  int peer = 0;
  void* buffer = nullptr;
  uint64_t bytes = 0;
};

/// The start of a pair's mail area; two slots follow it. Counters wrap.
struct MailHead {
  static constexpr size_t kBytes = 512;
  Flag posted;  // messages that the sender has described
  Flag taken;   // messages that the receiver has in full
  Flag in;      // pieces of large messages that lie, or lay, in the slots
  Flag out;     // pieces taken out of them
  // Of the message posted last:
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t region = 0;
  uint32_t inSlot = 0;  // 1: all of it lies in the first slot; the sender has gone on
};
static_assert(sizeof(MailHead) <= MailHead::kBytes);

/// What one rank's letters do when they are delivered together; each is moved on as far as it can
/// go, so a group never waits for itself. Counts per peer live as long as the communicator.
class Mail {
 public:
  /// How the memory of a peer is reached; `broken` ends everything.
  struct Reach {
    void* context;
    /// Where the peer's bytes can be loaded from here, or null.
    std::byte* (*pointer)(void* context, int peer, uint32_t region, uint64_t address) noexcept;
    bool (*broken)(void* context) noexcept;
    pid_t (*pid)(void* context, int peer) noexcept;
    const bool* cma;  // whether the kernel may copy
  };
  enum class Outcome { kDone, kBroken, kLengths, kCopyFailed };

  Mail(const Layout& layout, int rank, Reach reach) noexcept
      : layout_(layout), rank_(rank), reach_(reach) {}

  /// Delivers all letters. `state` has one byte per letter, all 0. On kLengths, faulty() says which
  /// letter and what its peer sends. HOT: no allocation or lock.
  Outcome deliver(std::span<const Letter> letters, std::span<uint8_t> state,
                  const WaitRules& rules) noexcept;
  struct Faulty {
    int peer = 0;
    uint64_t sent = 0, expected = 0;
  };
  [[nodiscard]] Faulty faulty() const noexcept { return faulty_; }

 private:
  enum Step : uint8_t { kWaiting, kMoving, kDelivered };
  struct Counts {
    uint32_t messages = 0, pieces = 0;
  };
  [[nodiscard]] MailHead& head(int from, int to) const noexcept {
    return *reinterpret_cast<MailHead*>(layout_.mail(from, to));
  }
  [[nodiscard]] uint64_t slotBytes() const noexcept {
    return (layout_.mailBytes() - MailHead::kBytes) / 2 / 64 * 64;
  }
  [[nodiscard]] std::byte* slot(int from, int to, uint32_t piece) const noexcept {
    return layout_.mail(from, to) + MailHead::kBytes + (piece & 1) * slotBytes();
  }
  bool stepSend(const Letter& letter, uint8_t& state) noexcept;
  bool stepRecv(const Letter& letter, uint8_t& state) noexcept;
  bool sendPieces(const Letter& letter) noexcept;
  bool recvPieces(const Letter& letter, uint8_t& state) noexcept;
  bool take(const Letter& letter, const MailHead& box) noexcept;

  const Layout& layout_;
  const int rank_;
  const Reach reach_;
  std::array<Counts, kMaxRanks> sent_{}, received_{};
  /// Bytes moved so far of the large message under way with each peer.
  std::array<uint64_t, kMaxRanks> sentBytes_{}, receivedBytes_{};
  Outcome outcome_ = Outcome::kDone;
  Faulty faulty_;
};

}  // namespace autoccl
