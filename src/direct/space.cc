// What the engine offers for a task, and what it would take itself.
#include <algorithm>
#include <string_view>

#include "direct/group.h"
#include "direct/group_state.h"

namespace autoccl::direct {
namespace {

constexpr uint32_t kClass = 1;  // every config gives the same bits

struct Form {
  Algorithm algorithm;
  Protocol protocol;
  Transport transport;
};
constexpr Form kForms[] = {
    {Algorithm::kOneShot, Protocol::kLL, Transport::kP2p},
    {Algorithm::kOneShot, Protocol::kLL128, Transport::kP2p},
    {Algorithm::kOneShot, Protocol::kSimple, Transport::kP2p},
    {Algorithm::kTwoShot, Protocol::kSimple, Transport::kP2p},
    {Algorithm::kOneShot, Protocol::kZero, Transport::kP2p},
    {Algorithm::kTwoShot, Protocol::kZero, Transport::kP2p},
    {Algorithm::kOneShot, Protocol::kSimple, Transport::kCe},
    {Algorithm::kTwoShot, Protocol::kSimple, Transport::kCe},
    {Algorithm::kOneShot, Protocol::kZero, Transport::kCe},
};

const std::vector<uint16_t> kBlockGrid{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
const std::vector<uint16_t> kThreadGrid{128, 256, 512};
const std::vector<uint32_t> kChunkGrid{16u << 10, 32u << 10, 64u << 10, 128u << 10, 256u << 10};
const std::vector<uint32_t> kEngineChunkGrid{256u << 10, 512u << 10, 1u << 20,
                                             2u << 20,   4u << 20,   8u << 20};

Subspace subspaceOf(const Form& form, const Task& task) {
  Subspace s;
  s.algorithm = form.algorithm;
  s.protocol = form.protocol;
  s.transport = form.transport;
  const bool engines = form.transport == Transport::kCe;
  const bool kernels = !engines || reduces(task.collective);
  s.channels = kernels ? kBlockGrid : std::vector<uint16_t>{1};
  s.threads = kernels ? kThreadGrid : std::vector<uint16_t>{512};
  if (form.protocol != Protocol::kSimple)
    s.chunks = {0};
  else
    s.chunks = engines ? kEngineChunkGrid : kChunkGrid;
  s.numericalClass = kClass;
  return s;
}

/// Microseconds by rule of thumb: starts and link rates as measured on NVLink 4; only ratios
/// matter.
double priorOf(const Task& task, const Config& c) {
  constexpr double kLink = 350e3, kBlock = 14e3;  // bytes/us of a GPU's links, of one block
  const double n = task.nRanks, piece = static_cast<double>(pieceOf(task));
  const double shots = c.algorithm == Algorithm::kTwoShot ? 2 * (n - 1) / n : n - 1;
  const bool engines = c.transport == Transport::kCe;
  double wire = piece * shots, start = 7;
  if (c.protocol == Protocol::kLL) wire *= 2, start = 4;
  if (c.protocol == Protocol::kLL128) wire *= 4.0 / 3, start = 4;
  if (engines) start = 20;
  const double rate = engines ? kLink : std::min(kLink, kBlock * c.channels);
  const double filling = c.chunk != 0 ? 2.0 * c.chunk * (engines ? 1 : c.channels) / kLink : 0;
  return start + wire / rate + std::min(filling, wire / rate);
}

}  // namespace

Space Group::spaceFor(const Task& task, bool zero) const {
  const GroupState& s = *state_;
  Space space;
  space.task = task;
  space.fallback = defaultFor(task);
  space.fallbackClass = kClass;
  const Shape shape{task.collective, task.nRanks, pieceOf(task)};
  const auto runnable = [arena = s.arena, shape, zero, streams = s.streamsWork,
                         scaledSum = task.op == ReduceOp::kScaledSum &&
                                     reduces(task.collective)](const Config& c) {
    const bool unscaled = c.transport == Transport::kCe || c.protocol == Protocol::kZero;
    return suits(shape.collective, c) && (zero || c.protocol != Protocol::kZero) &&
           (streams || c.transport != Transport::kCe) && !(scaledSum && unscaled) &&
           geometryOf(arena, shape, c).depth != 0;
  };
  for (const Form& form : kForms) {
    Subspace sub = subspaceOf(form, task);
    bool any = false;
    for (const uint32_t chunk : sub.chunks)
      any = any || runnable({form.algorithm, form.protocol, form.transport, 0, sub.channels[0],
                             sub.threads[0], chunk});
    if (any) space.subspaces.push_back(std::move(sub));
  }
  space.valid = runnable;
  space.priorUs = [task](const Config& c) { return priorOf(task, c); };
  return space;
}

Config Group::defaultFor(const Task& task) const {
  constexpr uint64_t kFew = 256u << 10;
  const uint64_t piece = pieceOf(task);
  const bool all = task.collective == Collective::kAllReduce;
  if (piece <= std::min(kFew, mostInLines(state_->arena, Protocol::kLL)))
    return {Algorithm::kOneShot, Protocol::kLL, Transport::kP2p, 0, 32, 512, 0};
  if (piece <= std::min<uint64_t>(4 * kFew, mostInLines(state_->arena, Protocol::kLL128)))
    return {Algorithm::kOneShot, Protocol::kLL128, Transport::kP2p, 0, 32, 512, 0};
  Config c{all ? Algorithm::kTwoShot : Algorithm::kOneShot,
           Protocol::kSimple,
           Transport::kP2p,
           0,
           64,
           512,
           128u << 10};
  const Shape shape{task.collective, task.nRanks, piece};
  while (c.chunk > 4096 && geometryOf(state_->arena, shape, c).depth == 0) c.chunk /= 2;
  return c;
}

}  // namespace autoccl::direct
