// Makes the variants of a communicator, together with the other ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edge/nccl/variant_table.h"
#include "edge/preload/family.h"

namespace autoccl::preload {

/// What this rank could make of what AUTOCCL_VARIANTS asks for, and what it would cost.
struct VariantPlan {
  VariantSet variants = 0;
  std::vector<std::string> lines;  // for the log: each variant's price, and why one is left out
};
/// Left out: what the user has set a variable of himself, and what passes AUTOCCL_VARIANT_MEMORY,
/// the later variants first, pairs (2.18) last. `channels`: of the communicator, by the user's
/// bounds.
[[nodiscard]] VariantPlan planVariants(int ncclVersion, int channels);
/// Channels to reckon with: NCCL's usual 16, within the user's own bounds.
[[nodiscard]] int channelsExpected(const CommEntry& entry);

/// The steps, over links of our own (exchange.h), nothing over the program's communicator:
/// 1. what every rank could make is agreed on;
/// 2. for each variant rank 0 hands out a unique id, every rank makes the communicator on a thread
///    of its own under the variant's variables, and the ranks tell each other whether it worked;
///    where it failed on one, all give it up.
/// The caller, who is in the program's first call, waits: 0.1 s to some seconds for each variant,
/// AUTOCCL_INIT_TIMEOUT for all. Where a rank does not come, there are no variants; a making that
/// hangs in NCCL is left to its thread. A rank that has missed the last word and lacks a variant
/// refuses every change that needs it (Agreement::Options::canRun).
/// Errors: none to the program; the log says what was made and what was not.
class VariantMaker {
 public:
  VariantMaker(CommEntry& entry, Family& family, int ncclVersion);
  /// What has been made on all ranks.
  VariantSet run();

 private:
  struct Attempt;
  class Steps;
  class Environment;
  [[nodiscard]] bool make(const nccl::VariantRow& row, Steps& steps);
  [[nodiscard]] std::shared_ptr<Attempt> prepare(const nccl::VariantRow& row);
  [[nodiscard]] bool makeTogether(const std::shared_ptr<Attempt>& attempt,
                                  const nccl::VariantRow& row, Steps& steps);
  void keep(const Attempt& attempt, Variant variant);

  CommEntry& entry_;
  Family& family_;
  const int version_;
  const int64_t deadlineNs_;
};

}  // namespace autoccl::preload
