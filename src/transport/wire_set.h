// All wires of one rank over one piece of shared memory.
#pragma once

#include "transport/doorbell.h"
#include "transport/ll_wire.h"
#include "transport/slot_wire.h"

namespace autoccl {

/// Bells, slots and LL lines, one behind the other. `shared` is zeroed, 64-byte aligned memory of
/// requiredBytes(g) that all ranks map (anywhere); the caller owns it. Pages that no call uses are
/// never touched. Thread rules: see Wire.
class WireSet {
 public:
  [[nodiscard]] static size_t requiredBytes(const WireGeometry& g) noexcept {
    return Doorbells::requiredBytes(g.nRanks, g.lanes) + SlotWire::requiredBytes(g) +
           LlWire::requiredBytes(g);
  }
  WireSet(std::byte* shared, const WireGeometry& g, int rank)
      : geometry(g),
        bells(shared, g.lanes),
        slots(shared + Doorbells::requiredBytes(g.nRanks, g.lanes), g, rank, bells),
        ll(shared + Doorbells::requiredBytes(g.nRanks, g.lanes) + SlotWire::requiredBytes(g), g,
           rank, bells) {}

  const WireGeometry geometry;
  Doorbells bells;
  SlotWire slots;
  LlWire ll;
};

}  // namespace autoccl
