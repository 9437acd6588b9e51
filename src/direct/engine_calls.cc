// Calls by copy engines (transport ce): copies between streams' writes of and waits for flags, so
// that no kernel, hence no SM, is needed but for a reduction, which is local and short.
//
// Two streams: the engine's own pushes chunks to the peers, the user's takes them in. Everything is
// enqueued in an order that would work on one stream too, since two streams may share a queue of
// the device:  push chunk 0; push 1; take 0; push 2; take 1; ...
#include <algorithm>

#include "direct/group_state.h"

namespace autoccl::direct {
namespace {

/// One call under way. Keeps the first error and does nothing after it.
class EngineCall {
 public:
  EngineCall(GroupState& s, const Call& call, const Planned& p, bool zero)
      : s_(s), call_(call), e_(p.exchange), g_(p.geometry), m_(e_.members), zero_(zero) {
    ++s_.epoch;
  }

  int exchange() {
    begin();
    const uint64_t chunk = zero_ ? std::max<uint64_t>(e_.bytes, 1) : g_.chunk;
    const uint64_t n = (e_.bytes + chunk - 1) / chunk;
    for (uint64_t k = 0; k <= n; ++k) {
      if (k < n) push(k, chunk);
      if (k == 0) placeOwn();
      if (k > 0) take(k - 1, chunk);
    }
    return end();
  }

  int twoShots() {
    begin();
    const uint64_t n = (g_.slice + g_.chunk - 1) / g_.chunk;
    for (uint64_t k = 0; k < n + 2; ++k) {
      if (k < n) pushSlices(k);
      if (k >= 1 && k - 1 < n) combineSlice(k - 1);
      if (k >= 2) takeSlices(k - 2);
    }
    return end();
  }

 private:
  // ---- the driver ----
  void note(int code) noexcept {
    if (code_ == kCudaSuccess) code_ = code;
  }
  void copy(CudaStream stream, const void* to, const void* from, uint64_t bytes) noexcept {
    if (bytes == 0 || code_ != kCudaSuccess) return;
    note(s_.cuda.copyAsync(reinterpret_cast<DevicePtr>(to), reinterpret_cast<DevicePtr>(from),
                           bytes, stream));
  }
  template <class Do>
  void forPeers(uint32_t bits, const Do& once) noexcept {
    for (uint32_t i = 1; i < m_.nRanks && code_ == kCudaSuccess; ++i) {
      const uint32_t p = (m_.rank + i) % m_.nRanks;
      if (hasBit(bits, p)) once(p);
    }
  }
  /// A write comes after all earlier work of its stream, its copies to the same peer included.
  void tell(CudaStream stream, StreamFlag kind, uint32_t peer) noexcept {
    const uint32_t count = ++s_.counts.told[size_t(kind)][peer];
    const uint64_t at = s_.arena.streamFlag(kind, m_.rank);
    note(s_.cuda.streamWrite(stream, reinterpret_cast<DevicePtr>(m_.arenas[peer] + at), count, 0));
  }
  void hear(CudaStream stream, StreamFlag kind, uint32_t peer) noexcept {
    const uint32_t count = ++s_.counts.heard[size_t(kind)][peer];
    const uint64_t at = s_.arena.streamFlag(kind, peer);
    note(s_.cuda.streamWait(stream, s_.memory + at, count, kWaitGeq));
  }
  void after(CudaStream later, CudaEvent event, CudaStream earlier) noexcept {
    if (code_ == kCudaSuccess) note(s_.cuda.eventRecord(event, earlier));
    if (code_ == kCudaSuccess) note(s_.cuda.streamWaitEvent(later, event, 0));
  }

  /// Nobody writes into a peer's memory before that peer has come to this call.
  void begin() noexcept {
    after(s_.side, s_.forked, call_.stream);
    forPeers(e_.receiveFrom, [&](uint32_t p) { tell(call_.stream, StreamFlag::kEntry, p); });
    forPeers(e_.sendTo, [&](uint32_t p) { hear(s_.side, StreamFlag::kEntry, p); });
  }
  int end() noexcept {
    after(call_.stream, s_.joined, s_.side);
    return code_;
  }

  // ---- exchange ----
  [[nodiscard]] static uint64_t length(uint64_t begin, uint64_t chunk, uint64_t bytes) noexcept {
    return begin >= bytes ? 0 : std::min(chunk, bytes - begin);
  }
  [[nodiscard]] char* slot(uint32_t owner, uint32_t from, uint64_t k,
                           uint32_t region) const noexcept {
    const uint64_t peers = m_.nRanks - 1;
    const uint64_t seat = region * peers + Members::seat(owner, from);
    return m_.arenas[owner] + s_.arena.staging + (seat * g_.depth + k % g_.depth) * g_.chunk;
  }
  void push(uint64_t k, uint64_t chunk) noexcept {
    const uint64_t begin = k * chunk, bytes = length(begin, chunk, e_.bytes);
    forPeers(e_.sendTo, [&](uint32_t p) {
      if (!zero_ && k >= g_.depth) hear(s_.side, StreamFlag::kDrained, p);
      char* to = zero_ ? peerRecv(p) : slot(p, m_.rank, k, 0);
      copy(s_.side, to, e_.send + p * e_.sendStride + begin, bytes);
      tell(s_.side, StreamFlag::kFilled, p);
    });
  }
  [[nodiscard]] char* peerRecv(uint32_t peer) const noexcept {
    const PeerMemory* buffer = s_.bufferOf(e_.recv, e_.bytes);
    const DevicePtr at = reinterpret_cast<DevicePtr>(e_.recv) - buffer->mine();
    return buffer->of(int(peer)) + at + m_.rank * e_.recvStride;
  }
  void placeOwn() noexcept {
    if (reduces(call_.collective) || !e_.ownPiece) return;
    copy(call_.stream, e_.recv + m_.rank * e_.recvStride, e_.send + m_.rank * e_.sendStride,
         e_.bytes);
  }
  void take(uint64_t k, uint64_t chunk) noexcept {
    const uint64_t begin = k * chunk, bytes = length(begin, chunk, e_.bytes);
    const bool reducing = reduces(call_.collective);
    if (reducing) {
      forPeers(e_.receiveFrom, [&](uint32_t p) { hear(call_.stream, StreamFlag::kFilled, p); });
      combine(e_.send + m_.rank * e_.sendStride + begin, e_.recv + begin, k, bytes);
    }
    const uint64_t n = (e_.bytes + chunk - 1) / chunk;
    forPeers(e_.receiveFrom, [&](uint32_t p) {
      if (!reducing) hear(call_.stream, StreamFlag::kFilled, p);
      if (zero_) return;
      if (!reducing)
        copy(call_.stream, e_.recv + p * e_.recvStride + begin, slot(m_.rank, p, k, 0), bytes);
      if (k + g_.depth < n) tell(call_.stream, StreamFlag::kDrained, p);
    });
  }
  /// My own values and the peers' slots, in rank order.
  void combine(const char* own, char* to, uint64_t k, uint64_t bytes) noexcept {
    if (bytes == 0 || code_ != kCudaSuccess) return;
    DirectCall c;
    c.members = m_;
    c.barriers = false;
    c.bytes = bytes;
    c.op = call_.op;
    c.nCombined = m_.nRanks;
    c.aligned = e_.aligned;
    c.nSources = m_.nRanks;
    for (uint32_t r = 0; r < m_.nRanks; ++r)
      c.sources[r] = r == m_.rank ? own : slot(m_.rank, r, k, 0);
    c.targets[0] = to;
    c.nTargets = 1;
    Geometry g = g_;
    const uint64_t useful = (bytes + g.threads * 16 - 1) / (g.threads * 16);
    g.blocks = static_cast<uint32_t>(std::min<uint64_t>(g.blocks, useful));
    note(
        launch(s_.cuda, s_.kernels->find(Body::kDirect, columnOf(call_, e_)), g, call_.stream, &c));
  }

  // ---- two shots ----
  [[nodiscard]] uint64_t sliceBytes(uint32_t p, uint64_t begin) const noexcept {
    const uint64_t at = p * g_.slice;
    const uint64_t whole = at >= e_.bytes ? 0 : std::min(g_.slice, e_.bytes - at);
    return length(begin, g_.chunk, whole);
  }
  [[nodiscard]] uint64_t chunks() const noexcept { return (g_.slice + g_.chunk - 1) / g_.chunk; }

  void pushSlices(uint64_t k) noexcept {
    const uint64_t begin = k * g_.chunk;
    forPeers(e_.sendTo, [&](uint32_t p) {
      if (k >= g_.depth) hear(s_.side, StreamFlag::kDrained, p);
      copy(s_.side, slot(p, m_.rank, k, 0), e_.send + p * g_.slice + begin, sliceBytes(p, begin));
      tell(s_.side, StreamFlag::kFilled, p);
    });
  }
  void combineSlice(uint64_t k) noexcept {
    const uint64_t begin = k * g_.chunk, at = m_.rank * g_.slice + begin;
    const uint64_t bytes = sliceBytes(m_.rank, begin);
    forPeers(e_.receiveFrom, [&](uint32_t p) { hear(call_.stream, StreamFlag::kFilled, p); });
    combine(e_.send + at, e_.recv + at, k, bytes);
    forPeers(e_.receiveFrom, [&](uint32_t p) {
      if (k + g_.depth < chunks()) tell(call_.stream, StreamFlag::kDrained, p);
    });
    after(s_.side, s_.forked, call_.stream);
    forPeers(e_.sendTo, [&](uint32_t p) {
      if (k >= g_.depth) hear(s_.side, StreamFlag::kDrained2, p);
      copy(s_.side, slot(p, m_.rank, k, 1), e_.recv + at, bytes);
      tell(s_.side, StreamFlag::kFilled2, p);
    });
  }
  void takeSlices(uint64_t k) noexcept {
    const uint64_t begin = k * g_.chunk;
    forPeers(e_.receiveFrom, [&](uint32_t p) {
      hear(call_.stream, StreamFlag::kFilled2, p);
      copy(call_.stream, e_.recv + p * g_.slice + begin, slot(m_.rank, p, k, 1),
           sliceBytes(p, begin));
      if (k + g_.depth < chunks()) tell(call_.stream, StreamFlag::kDrained2, p);
    });
  }

  GroupState& s_;
  const Call& call_;
  const Exchange& e_;
  const Geometry& g_;
  const Members& m_;
  bool zero_;
  int code_ = kCudaSuccess;
};

}  // namespace

int runEngines(GroupState& s, const Call& call, const Config& config, const Planned& p) noexcept {
  EngineCall running(s, call, p, config.protocol == Protocol::kZero);
  return config.algorithm == Algorithm::kTwoShot ? running.twoShots() : running.exchange();
}

}  // namespace autoccl::direct
