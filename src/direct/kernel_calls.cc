// Calls by kernels that load and store peers' memory (transport p2p): one launch each.
#include <algorithm>

#include "direct/group_state.h"

namespace autoccl::direct {
namespace {

int runLines(GroupState& s, const Call& call, const Config& config, const Planned& p) noexcept {
  LinesCall c;
  c.exchange = p.exchange;
  const uint64_t turn = s.lineCalls++;
  const auto peers = static_cast<uint64_t>(s.nRanks - 1);
  c.half = s.arena.lines + turn % 2 * peers * s.arena.reach;
  c.reach = s.arena.reach;
  c.flag = static_cast<uint32_t>(turn % UINT32_MAX) + 1;
  const Body body = config.protocol == Protocol::kLL ? Body::kLL : Body::kLL128;
  return launch(s.cuda, s.kernels->find(body, columnOf(call, p.exchange)), p.geometry, call.stream,
                &c);
}

int runStaged(GroupState& s, const Call& call, const Config& config, const Planned& p) noexcept {
  StagedCall c;
  c.exchange = p.exchange;
  c.epoch = ++s.epoch;
  c.slots = s.arena.staging;
  c.chunk = p.geometry.chunk;
  c.depth = p.geometry.depth;
  c.slice = p.geometry.slice;
  const auto peers = static_cast<uint64_t>(s.nRanks - 1);
  c.secondSlots = c.slots + peers * p.geometry.blocks * c.depth * c.chunk;
  const Body body = config.algorithm == Algorithm::kTwoShot ? Body::kTwoShot : Body::kStaged;
  return launch(s.cuda, s.kernels->find(body, columnOf(call, p.exchange)), p.geometry, call.stream,
                &c);
}

/// The buffers of all ranks that lie where this call's do.
struct Reach {
  const PeerMemory* send;
  const PeerMemory* recv;
  uint64_t sendAt;
  uint64_t recvAt;

  Reach(const GroupState& s, const Planned& p)
      : send(s.bufferOf(p.exchange.send, p.sendBytes)),
        recv(s.bufferOf(p.exchange.recv, p.recvBytes)),
        sendAt(reinterpret_cast<DevicePtr>(p.exchange.send) - (send ? send->mine() : 0)),
        recvAt(reinterpret_cast<DevicePtr>(p.exchange.recv) - (recv ? recv->mine() : 0)) {}
  [[nodiscard]] const char* sendOf(uint32_t r) const { return send->of(int(r)) + sendAt; }
  [[nodiscard]] char* recvOf(uint32_t r) const { return recv->of(int(r)) + recvAt; }
};

/// Combining reads every rank's piece of mine; AllReduce stores the result into all.
void aimReducing(DirectCall& c, const Call& call, const Planned& p, const Reach& reach) noexcept {
  const Members& m = c.members;
  const Exchange& e = p.exchange;
  const bool all = call.collective == Collective::kAllReduce;
  const uint64_t at = m.rank * (all ? p.geometry.slice : e.bytes);
  c.bytes = !all ? e.bytes : at < e.bytes ? std::min(p.geometry.slice, e.bytes - at) : 0;
  for (uint32_t r = 0; r < m.nRanks; ++r) c.sources[r] = reach.sendOf(r) + at;
  c.nSources = m.nRanks;
  if (!all) {
    c.targets[c.nTargets++] = e.recv;
    return;
  }
  for (uint32_t i = 1; i <= m.nRanks; ++i)
    c.targets[c.nTargets++] = reach.recvOf((m.rank + i) % m.nRanks) + at;
}

/// Moving stores into the peers: what arrives is seen by their last barrier.
void aimMoving(DirectCall& c, const Planned& p, const Reach& reach) noexcept {
  const Members& m = c.members;
  const Exchange& e = p.exchange;
  c.paired = e.sendStride != 0;
  c.bytes = e.sendTo != 0 ? e.bytes : 0;
  c.sources[0] = e.send;
  c.nSources = 1;
  for (uint32_t i = 1; i <= m.nRanks; ++i) {
    const uint32_t r = (m.rank + i) % m.nRanks;
    if (r == m.rank && !e.ownPiece) continue;
    if (c.paired) c.sources[c.nTargets] = e.send + r * e.sendStride;
    c.targets[c.nTargets++] = reach.recvOf(r) + m.rank * e.recvStride;
  }
}

int runDirect(GroupState& s, const Call& call, const Planned& p) noexcept {
  DirectCall c;
  c.members = s.members;
  c.epoch = ++s.epoch;
  c.aligned = p.exchange.aligned;
  c.op = call.op;
  c.nCombined = c.members.nRanks;
  const Reach reach(s, p);
  if (reduces(call.collective))
    aimReducing(c, call, p, reach);
  else
    aimMoving(c, p, reach);
  return launch(s.cuda, s.kernels->find(Body::kDirect, columnOf(call, p.exchange)), p.geometry,
                call.stream, &c);
}

}  // namespace

int launch(const Cuda& cuda, CudaFunction function, const Geometry& g, CudaStream stream,
           void* arguments) noexcept {
  void* parameters[] = {arguments};
  return cuda.launch(function, g.blocks, 1, 1, g.threads, 1, 1, 0, stream, parameters, nullptr);
}

int runKernels(GroupState& s, const Call& call, const Config& config, const Planned& p) noexcept {
  switch (config.protocol) {
    case Protocol::kSimple:
      return runStaged(s, call, config, p);
    case Protocol::kZero:
      return runDirect(s, call, p);
    default:
      return runLines(s, call, config, p);
  }
}

}  // namespace autoccl::direct
