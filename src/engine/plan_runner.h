// Runs step plans (ring, double tree, halving-doubling) of one rank over its wires.
#pragma once

#include <memory>
#include <vector>

#include "engine/plan_call.h"

namespace autoccl {

/// One per rank of a communicator. For each call: begin() on one thread, then run(channel, thread)
/// once for each of config.channels x config.threads: in parallel, or in the same order on all
/// ranks. Calls follow each other; the caller joins the lanes in between.
///
/// (A, P, T) offered: ring, tree and hd (where the catalog has a plan) with Simple or LL over shm,
/// Simple over cma (user buffers are pulled by their receiver; partial sums go through slots) and
/// Zero over shm (user buffers of all ranks are mapped: `peers`).
///
/// Numerical class: the order of a reduction depends on the algorithm, the rank count and the
/// element's block only, never on P, T, NC, NT or C.
/// Memory: 5/4 of a pair's area for partial sums and pulled messages, touched when used. A plan is
/// made at the first call of its (collective, algorithm, root); no later call allocates (held by
/// PlanRunner.ASecondCallAllocatesNothing).
class PlanRunner {
 public:
  /// `wires` must outlive the runner.
  PlanRunner(int rank, WireSet& wires);

  /// Whether this config can carry this collective on n ranks with wires of geometry g. The same on
  /// all ranks; for Space::valid. Not hot.
  [[nodiscard]] static bool offers(const WireGeometry& g, const Config& config,
                                   Collective collective);

  /// False: the config is not on offer, or `rules` ended a wait for the previous call's messages.
  [[nodiscard]] bool begin(const PlanCall& call, const Config& config, const WaitRules& rules);
  /// False: the call was ended (epoch moved, peer dead, CMA refused); the wires are then unusable.
  [[nodiscard]] bool run(int channel, int thread) const;

 private:
  struct Prepared {
    Program program;
    int widest = 1;
  };
  [[nodiscard]] const Prepared* prepare(Algorithm algorithm, const CallShape& shape);
  void locateBlocks();

  WireSet& wires_;
  PlanContext context_;
  std::vector<std::unique_ptr<Prepared>> prepared_;  // by collective, algorithm, root
  std::unique_ptr<std::byte[]> accumulators_;
  std::unique_ptr<std::byte[]> pulled_;
};

}  // namespace autoccl
