#include "engine/wires.h"

#include <algorithm>

namespace autoccl {
namespace {

constexpr size_t kKiB = 1024, kMiB = kKiB * kKiB;

size_t powerOfTwoBelow(size_t value) noexcept {
  size_t power = 1;
  while (2 * power <= value) power *= 2;
  return power;
}

struct LaneRun {
  Flight& flight;
  PlanRunner& runner;
};

void runLane(void* context, int worker) noexcept {
  auto& [flight, runner] = *static_cast<LaneRun*>(context);
  const int threads = flight.config.threads;
  if (!runner.run(worker / threads, worker % threads))
    flight.failed.store(true, std::memory_order_relaxed);
}

}  // namespace

WireGeometry wireGeometry(int nRanks) noexcept {
  const size_t pairs = static_cast<size_t>(nRanks) * static_cast<size_t>(nRanks);
  WireGeometry g;
  g.nRanks = nRanks;
  g.lanes = nRanks <= 8 ? 16 : nRanks <= 16 ? 8 : 2;
  g.pairBytes = powerOfTwoBelow(std::clamp(128 * kMiB / pairs, 32 * kKiB, 4 * kMiB));
  g.llLaneBytes = powerOfTwoBelow(
      std::clamp(16 * kMiB / pairs / static_cast<size_t>(g.lanes), 4 * kKiB, 32 * kKiB));
  return g;
}

size_t wireBytes(int nRanks) noexcept {
  return WireSet::requiredBytes(wireGeometry(nRanks));
}

bool Plans::offers(const Config& config, Collective collective) {
  for (const Answer& a : answers_)
    if (a.config == config && a.collective == collective) return a.offered;
  const bool offered = PlanRunner::offers(wires_.geometry, config, collective);
  answers_.push_back({config, collective, offered});
  return offered;
}

bool Plans::run(Flight& f, WorkerPool& pool) noexcept {
  const auto me = static_cast<size_t>(f.rank);
  const bool remote = f.config.transport == Transport::kCma;
  for (size_t r = 0; r < static_cast<size_t>(f.nRanks); ++r)
    peers_[r] = remote ? PeerBuffers{reinterpret_cast<const std::byte*>(f.peerSend[r]),
                                     reinterpret_cast<std::byte*>(f.peerRecv[r]), f.pid[r]}
                       : PeerBuffers{f.send[r], f.recv[r], f.pid[r]};
  PlanCall call;
  call.shape = f.shape;
  call.dtype = f.call->dtype;
  call.op = f.call->op;
  call.send = f.send[me];
  call.recv = f.recv[me];
  call.scale = f.call->scale;
  call.peers = peers_.data();
  if (!runner_.begin(call, f.config, f.rules)) return false;
  LaneRun lanes{f, runner_};
  pool.run(f.workers(), runLane, &lanes);
  return !f.broken();
}

}  // namespace autoccl
