// Which algorithm serves which collective, how, and at what cost: one line each.
#pragma once

#include <span>
#include <string_view>

#include "model/types.h"
#include "plan/plan.h"

namespace autoccl {

/// Cost of one call by Hockney's model with reduction:
///   steps x alpha + moved x nBytes x beta + reduced x nBytes x gamma.
/// nBytes as Task counts them. Each figure is that of the busiest rank, pipelined where the
/// algorithm is; links and memory are taken as shared by nobody.
struct CostTerms {
  double steps = 0;    // messages one after another on the longest way
  double moved = 0;    // share of nBytes that has to pass one rank, one after another
  double reduced = 0;  // share of nBytes that one rank combines
};

struct CatalogRow {
  Algorithm algorithm{};
  Collective collective{};
  Plan (*make)(Seat) = nullptr;        // null: dataflow without steps, see tiles.h
  CostTerms (*cost)(int n) = nullptr;  // n > 1
  std::string_view formula;            // of `cost`: a, b, g per step, byte, reduced byte; S nBytes
  std::string_view when;               // why one would choose it
};

/// All rows, by algorithm, then collective.
[[nodiscard]] std::span<const CatalogRow> catalog() noexcept;
/// The row, or null where the algorithm does not serve the collective.
[[nodiscard]] const CatalogRow* findPlan(Algorithm algorithm, Collective collective) noexcept;

/// Most blocks in one message of any rank: what a slot must hold. Makes all n plans.
[[nodiscard]] int widestMessage(Plan (*make)(Seat), int n, int root);

}  // namespace autoccl
