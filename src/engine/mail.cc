#include "engine/mail.h"

#include <algorithm>
#include <cstring>

#include "transport/cma.h"

namespace autoccl {
namespace {

constexpr uint64_t kBlock = uint64_t{1} << 20;  // copied between two looks at the epoch

bool isReached(const Flag& flag, uint32_t target) noexcept {
  return reached(flag.value.load(std::memory_order_acquire), target);
}

}  // namespace

bool Mail::stepSend(const Letter& letter, uint8_t& state) noexcept {
  const auto peer = static_cast<size_t>(letter.peer);
  MailHead& box = head(rank_, letter.peer);
  Counts& counts = sent_[peer];
  if (state == kMoving) {
    if (isReached(box.taken, counts.messages)) {
      state = kDelivered;
      return true;
    }
    return sendPieces(letter);
  }
  if (!isReached(box.taken, counts.messages)) return false;  // the one before still lies there
  box.address = reinterpret_cast<uint64_t>(letter.buffer);
  box.bytes = letter.bytes;
  box.region = Regions::ofProcess().idOf(letter.buffer, letter.bytes);
  box.inSlot = letter.bytes <= slotBytes();
  if (box.inSlot != 0 && letter.bytes > 0)
    std::memcpy(slot(rank_, letter.peer, 0), letter.buffer, letter.bytes);
  sentBytes_[peer] = 0;
  state = box.inSlot != 0 ? kDelivered : kMoving;
  raise(box.posted, ++counts.messages);
  return true;
}

/// Large messages between processes where nothing better is permitted: two slots in turn. The
/// receiver says that it wants them by opening the message (it raises `out` at its own pace).
bool Mail::sendPieces(const Letter& letter) noexcept {
  const auto peer = static_cast<size_t>(letter.peer);
  MailHead& box = head(rank_, letter.peer);
  const bool staged =
      !*reach_.cma && box.region == 0 &&
      layout_.info(letter.peer).server.process != layout_.info(rank_).server.process;
  uint32_t& pieces = sent_[peer].pieces;
  if (!staged || sentBytes_[peer] == letter.bytes || !isReached(box.out, pieces - 1)) return false;
  const uint64_t n = std::min(slotBytes(), letter.bytes - sentBytes_[peer]);
  std::memcpy(slot(rank_, letter.peer, pieces),
              static_cast<const std::byte*>(letter.buffer) + sentBytes_[peer], n);
  sentBytes_[peer] += n;
  raise(box.in, ++pieces);
  return true;
}

bool Mail::stepRecv(const Letter& letter, uint8_t& state) noexcept {
  const auto peer = static_cast<size_t>(letter.peer);
  MailHead& box = head(letter.peer, rank_);
  Counts& counts = received_[peer];
  if (state == kMoving) return recvPieces(letter, state);
  if (!isReached(box.posted, counts.messages + 1)) return false;
  if (box.bytes != letter.bytes) {
    faulty_ = {letter.peer, box.bytes, letter.bytes};
    outcome_ = Outcome::kLengths;
    return false;
  }
  ++counts.messages;
  receivedBytes_[peer] = 0;
  const bool sameProcess =
      layout_.info(letter.peer).server.process == layout_.info(rank_).server.process;
  if (box.inSlot == 0 && !sameProcess && box.region == 0 && !*reach_.cma) {
    state = kMoving;
    return true;
  }
  if (!take(letter, box)) {
    outcome_ = reach_.broken(reach_.context) ? Outcome::kBroken : Outcome::kCopyFailed;
    return false;
  }
  raise(box.taken, counts.messages);
  state = kDelivered;
  return true;
}

bool Mail::take(const Letter& letter, const MailHead& box) noexcept {
  if (letter.bytes == 0) return true;
  const bool sameProcess =
      layout_.info(letter.peer).server.process == layout_.info(rank_).server.process;
  const std::byte* from = nullptr;
  if (box.inSlot != 0)
    from = slot(letter.peer, rank_, 0);
  else if (sameProcess || box.region != 0)
    from = reach_.pointer(reach_.context, letter.peer, box.region, box.address);
  if (from == nullptr && box.region != 0) return false;
  const pid_t pid = reach_.pid(reach_.context, letter.peer);
  for (uint64_t at = 0; at < letter.bytes; at += kBlock) {
    if (reach_.broken(reach_.context)) return false;
    const uint64_t n = std::min(kBlock, letter.bytes - at);
    std::byte* to = static_cast<std::byte*>(letter.buffer) + at;
    if (from != nullptr)
      std::memmove(to, from + at, n);
    else if (!cmaRead(pid, box.address + at, to, n))
      return false;
  }
  return true;
}

bool Mail::recvPieces(const Letter& letter, uint8_t& state) noexcept {
  const auto peer = static_cast<size_t>(letter.peer);
  MailHead& box = head(letter.peer, rank_);
  uint32_t& pieces = received_[peer].pieces;
  if (!isReached(box.in, pieces + 1)) return false;
  const uint64_t n = std::min(slotBytes(), letter.bytes - receivedBytes_[peer]);
  std::memcpy(static_cast<std::byte*>(letter.buffer) + receivedBytes_[peer],
              slot(letter.peer, rank_, pieces), n);
  receivedBytes_[peer] += n;
  raise(box.out, ++pieces);
  if (receivedBytes_[peer] == letter.bytes) {
    raise(box.taken, received_[peer].messages);
    state = kDelivered;
  }
  return true;
}

Mail::Outcome Mail::deliver(std::span<const Letter> letters, std::span<uint8_t> state,
                            const WaitRules& rules) noexcept {
  outcome_ = Outcome::kDone;
  uint32_t turns = 0;
  bool last = false;  // one more look after the waiting has been called off
  for (;;) {
    std::array<bool, kMaxRanks> sendBusy{}, recvBusy{};
    bool moved = false;
    size_t left = 0;
    for (size_t i = 0; i < letters.size() && outcome_ == Outcome::kDone; ++i) {
      if (state[i] == kDelivered) continue;
      bool& busy = (letters[i].isSend ? sendBusy : recvBusy)[static_cast<size_t>(letters[i].peer)];
      if (!busy)
        moved |=
            letters[i].isSend ? stepSend(letters[i], state[i]) : stepRecv(letters[i], state[i]);
      busy |= state[i] != kDelivered;
      left += state[i] != kDelivered;
    }
    if (outcome_ != Outcome::kDone || left == 0) return outcome_;
    if (moved) {
      turns = 0;
      continue;
    }
    if (last) return Outcome::kBroken;
    last = !waitOnce(turns, rules);
  }
}

}  // namespace autoccl
