// The algorithm selection of NCCL 2.31's per-call configs (ncclCollConfig_t.algSelection).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autoccl::nccl {

/// The string that allows exactly this pair (indices into kAlgorithms and kProtocols). Terms are
/// prefixes, so "RING_LL" alone would allow RING_LL128 too. Empty where NCCL names no such pair.
[[nodiscard]] std::string selectionFor(int algorithm, int protocol);

/// Names that a selection allows: ',' is or, '+' is and, '^' is not; a term is a prefix of names,
/// case does not matter. Throws Error (kInput) naming the term that fits no name.
[[nodiscard]] std::vector<std::string_view> selected(std::string_view selection);

}  // namespace autoccl::nccl
