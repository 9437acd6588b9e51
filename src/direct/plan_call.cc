// Where a call's pieces lie.
#include "direct/group_state.h"

namespace autoccl::direct {
namespace {

constexpr uint64_t kWide = 16;
constexpr uint64_t kLineWide = 8;  // what lines load and store at once

uint32_t allBut(uint32_t rank, uint32_t nRanks) {
  return ((1u << nRanks) - 1) & ~(1u << rank);
}

uint64_t addressOf(const void* p) {
  return reinterpret_cast<uint64_t>(p);
}

/// Pieces by collective, without buffers' alignment.
Exchange piecesOf(const Members& m, const Call& call, uint64_t piece) {
  Exchange e;
  e.members = m;
  e.send = static_cast<const char*>(call.send);
  e.recv = static_cast<char*>(call.recv);
  e.bytes = piece;
  e.op = call.op;
  e.scale = call.scale;
  e.sendTo = e.receiveFrom = allBut(m.rank, m.nRanks);
  switch (call.collective) {
    case Collective::kReduceScatter:
      e.sendStride = piece;
      break;
    case Collective::kAllGather:
      e.recvStride = piece;
      e.ownPiece = e.send != e.recv + m.rank * piece;
      break;
    case Collective::kAllToAll:
      e.sendStride = e.recvStride = piece;
      break;
    case Collective::kBroadcast: {
      const auto root = static_cast<uint32_t>(call.root);
      const bool sends = root == m.rank;
      e.sendTo = sends ? e.sendTo : 0;
      e.receiveFrom = sends ? 0 : 1u << root;
      e.ownPiece = sends && e.send != e.recv;
      break;
    }
    default:
      break;
  }
  return e;
}

}  // namespace

Planned planCall(const GroupState& state, const Call& call, const Config& config) {
  Planned p;
  const uint64_t piece = call.count * sizeOf(call.dtype);
  p.exchange = piecesOf(state.members, call, piece);
  const auto n = static_cast<uint64_t>(state.nRanks);
  Exchange& e = p.exchange;
  p.sendBytes = e.sendStride != 0 ? n * piece : piece;
  p.recvBytes = e.recvStride != 0 ? n * piece : piece;
  const bool lines = config.protocol == Protocol::kLL || config.protocol == Protocol::kLL128;
  const uint64_t wide = lines ? kLineWide : kWide;
  e.aligned = (addressOf(e.send) | addressOf(e.recv) | e.sendStride | e.recvStride) % wide == 0;
  p.geometry = geometryOf(state.arena, {call.collective, state.nRanks, piece}, config);
  return p;
}

int columnOf(const Call& call, const Exchange& e) noexcept {
  if (reduces(call.collective)) return static_cast<int>(call.dtype);
  const bool words = (addressOf(e.send) | addressOf(e.recv) | e.bytes) % sizeof(uint32_t) == 0;
  return words ? kWordsColumn : kBytesColumn;
}

}  // namespace autoccl::direct
