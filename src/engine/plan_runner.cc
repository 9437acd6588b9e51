#include "engine/plan_runner.h"

#include <algorithm>
#include <optional>

#include "engine/plan_lane.h"
#include "plan/catalog.h"

namespace autoccl {
namespace {

constexpr uint64_t kLine = 64;

bool isLl(const Config& c) {
  return c.protocol == Protocol::kLL;
}

std::optional<SlotWire::Mode> modeOf(const Config& c) {
  if (c.protocol == Protocol::kSimple && c.transport == Transport::kShm)
    return SlotWire::Mode::kStaged;
  if (c.protocol == Protocol::kSimple && c.transport == Transport::kCma)
    return SlotWire::Mode::kCma;
  if (c.protocol == Protocol::kZero && c.transport == Transport::kShm) return SlotWire::Mode::kZero;
  return std::nullopt;
}

bool knownWire(const Config& c) {
  return isLl(c) ? c.transport == Transport::kShm : modeOf(c).has_value();
}

PlanCut cutFor(const Config& c, int rails, int widest) {
  PlanCut cut;
  cut.channels = c.channels;
  cut.threads = c.threads;
  cut.rails = rails;
  const uint64_t share = c.chunk / (static_cast<uint64_t>(widest) * c.threads);
  cut.sliceBytes = std::max(share & ~(kLine - 1), kLine);
  cut.roundBytes = cut.sliceBytes * c.threads;
  cut.layout = {c.channels * c.threads * rails, rails,
                static_cast<size_t>(widest) * cut.sliceBytes};
  return cut;
}

bool fits(const WireGeometry& g, const Config& c, const WireLayout& layout) {
  return isLl(c) ? LlWire::fits(g, layout) : SlotWire::fits(g, layout);
}

}  // namespace

PlanRunner::PlanRunner(int rank, WireSet& wires) : wires_(wires) {
  const WireGeometry& g = wires.geometry;
  const auto n = static_cast<size_t>(g.nRanks);
  const size_t messages = g.pairBytes / Wire::kSlots;  // of all lanes together
  prepared_.resize(kCollectives * kAlgorithms * n);
  accumulators_ = std::make_unique_for_overwrite<std::byte[]>(2 * messages);
  pulled_ = std::make_unique_for_overwrite<std::byte[]>(3 * messages);
  context_.rank = rank;
  context_.bells = &wires.bells;
  context_.accumulators = accumulators_.get();
  context_.pulled = pulled_.get();
  context_.source.reserve(n + 1);
  context_.out.reserve(n + 1);
}

bool PlanRunner::offers(const WireGeometry& g, const Config& config, Collective collective) {
  const CatalogRow* row = findPlan(config.algorithm, collective);
  if (!row || !row->make || !knownWire(config) || config.channels < 1 || config.threads < 1)
    return false;
  const int rails = row->make({0, g.nRanks, 0}).rails;
  const int widest = widestMessage(row->make, g.nRanks, 0);
  return fits(g, config, cutFor(config, rails, widest).layout);
}

const PlanRunner::Prepared* PlanRunner::prepare(Algorithm algorithm, const CallShape& shape) {
  const auto n = static_cast<size_t>(shape.nRanks);
  const size_t index =
      (static_cast<size_t>(shape.collective) * kAlgorithms + static_cast<size_t>(algorithm)) * n +
      static_cast<size_t>(shape.root);
  auto& place = prepared_[index];
  if (!place) {
    const CatalogRow* row = findPlan(algorithm, shape.collective);
    if (!row || !row->make) return nullptr;
    const Seat seat{context_.rank, shape.nRanks, shape.root};
    place = std::make_unique<Prepared>();
    place->program = fuse(row->make(seat), shape.collective, seat);
    place->widest = widestMessage(row->make, shape.nRanks, shape.root);
  }
  return place.get();
}

bool PlanRunner::begin(const PlanCall& call, const Config& config, const WaitRules& rules) {
  context_.call = call;
  if (!rooted(call.shape.collective)) context_.call.shape.root = 0;
  const Prepared* prepared = prepare(config.algorithm, context_.call.shape);
  if (!prepared || !knownWire(config)) return false;
  context_.rules = rules;
  context_.program = &prepared->program;
  context_.cut = cutFor(config, prepared->program.rails, prepared->widest);
  if (!fits(wires_.geometry, config, context_.cut.layout)) return false;
  if (isLl(config)) {
    context_.wire = &wires_.ll;
  } else {
    wires_.slots.setMode(*modeOf(config), call.peers);
    context_.wire = &wires_.slots;
  }
  locateBlocks();
  return context_.wire->open(context_.cut.layout, rules);
}

void PlanRunner::locateBlocks() {
  const CallShape& shape = context_.call.shape;
  const int nBlocks = context_.program->nBlocks;
  const BlockMap map(shape, context_.rank, nBlocks);
  context_.source.clear();
  context_.out.clear();
  uint64_t longest = 0;
  for (int b = 0; b < nBlocks; ++b) {
    context_.source.push_back(map.source(b));
    context_.out.push_back(map.out(b));
    longest = std::max({longest, context_.source.back().bytes, context_.out.back().bytes});
  }
  const PlanCut& cut = context_.cut;
  const uint64_t ofChannel = part(longest, 0, cut.channels, shape.elementBytes).bytes;
  context_.rounds = (ofChannel + cut.roundBytes - 1) / cut.roundBytes;
}

bool PlanRunner::run(int channel, int thread) const {
  return PlanLane(context_, channel, thread).run();
}

}  // namespace autoccl
