#include "transport/slot_wire.h"

#include <sys/uio.h>

#include <cerrno>

namespace autoccl {
namespace {

constexpr auto kSeqCst = std::memory_order_seq_cst;

}  // namespace

bool readRemote(pid_t pid, const std::byte* remote, std::byte* here, size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec to{here, bytes}, from{const_cast<std::byte*>(remote), bytes};
    const ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    here += got;
    remote += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

size_t SlotWire::requiredBytes(const WireGeometry& g) noexcept {
  return g.pairs() * (static_cast<size_t>(g.lanes) * sizeof(Lane) + g.pairBytes);
}

SlotWire::SlotWire(std::byte* shared, const WireGeometry& g, int rank, Doorbells bells)
    : g_(g),
      rank_(rank),
      lanes_(reinterpret_cast<Lane*>(shared)),
      areas_(shared + g.pairs() * static_cast<size_t>(g.lanes) * sizeof(Lane)),
      bells_(bells),
      ends_(g.laneOf(static_cast<size_t>(g.nRanks), 0)) {}

SlotWire::Lane& SlotWire::shared(int from, int to, int lane) const noexcept {
  return lanes_[g_.laneOf(g_.pair(from, to), lane)];
}

std::byte* SlotWire::slotAt(int from, int to, int lane, uint32_t sequence) const noexcept {
  const size_t slot = static_cast<size_t>(lane) * kSlots + sequence % kSlots;
  return areas_ + g_.pair(from, to) * g_.pairBytes + slot * layout_.slotBytes;
}

bool SlotWire::fits(const WireGeometry& g, const WireLayout& l) noexcept {
  return l.lanes <= g.lanes && l.slotBytes * kSlots * static_cast<size_t>(l.lanes) <= g.pairBytes;
}

bool SlotWire::open(const WireLayout& next, const WaitRules& rules) noexcept {
  if (next.lanes != layout_.lanes || next.slotBytes != layout_.slotBytes) {
    uint32_t turns = 0;
    for (int to = 0; to < g_.nRanks; ++to)
      for (int lane = 0; lane < layout_.lanes; ++lane)
        while (to != rank_ && !idle(to, lane))
          if (!waitOnce(turns, rules)) return false;
  }
  layout_ = next;
  return true;
}

bool SlotWire::canSend(int to, int lane) noexcept {
  End& e = end(to, lane);
  if (e.sent - e.seenReleased < kSlots) return true;
  e.seenReleased = shared(rank_, to, lane).released.value.load(kSeqCst);
  return e.sent - e.seenReleased < kSlots;
}

std::byte* SlotWire::slot(int to, int lane) noexcept {
  return slotAt(rank_, to, lane, end(to, lane).sent);
}

void SlotWire::send(int to, int lane, Note note) noexcept {
  End& e = end(to, lane);
  Lane& l = shared(rank_, to, lane);
  l.notes[e.sent % kSlots] = note;
  l.sent.value.store(++e.sent, kSeqCst);
  bells_.ring(to, lane / layout_.lanesPerBell);
}

void SlotWire::post(int to, int lane, size_t) noexcept {
  send(to, lane, {0, Kind::kSlot, 0});
}

void SlotWire::publish(int to, int lane, bool sendSide, uint64_t offset) noexcept {
  send(to, lane, {offset, sendSide ? Kind::kSendSide : Kind::kRecvSide, 0});
}

bool SlotWire::idle(int to, int lane) noexcept {
  End& e = end(to, lane);
  e.seenReleased = shared(rank_, to, lane).released.value.load(kSeqCst);
  return e.sent == e.seenReleased;
}

bool SlotWire::canReceive(int from, int lane, size_t) noexcept {
  return shared(from, rank_, lane).sent.value.load(kSeqCst) != end(from, lane).received;
}

Incoming SlotWire::peek(int from, int lane, size_t) noexcept {
  const uint32_t sequence = end(from, lane).received;
  const Note note = shared(from, rank_, lane).notes[sequence % kSlots];
  Incoming in;
  if (note.kind == Kind::kSlot) {
    in.first = slotAt(from, rank_, lane, sequence);
    return in;
  }
  const PeerBuffers& peer = peers_[from];
  in.where = mode_ == Mode::kZero ? Incoming::Where::kMapped : Incoming::Where::kRemote;
  in.sendSide = note.kind == Kind::kSendSide;
  in.first = (in.sendSide ? peer.send : peer.recv) + note.offset;
  in.pid = peer.pid;
  return in;
}

void SlotWire::release(int from, int lane) noexcept {
  End& e = end(from, lane);
  shared(from, rank_, lane).released.value.store(++e.received, kSeqCst);
  bells_.ring(from, lane / layout_.lanesPerBell);
}

}  // namespace autoccl
