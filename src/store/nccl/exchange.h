// Profiles to and from what NCCL itself can be given: tuner rules, environment, call configs.
#pragma once

#include <string>
#include <vector>

#include "store/nccl/rules.h"
#include "store/profile.h"

namespace autoccl::nccl {

/// Rules for the entries whose choice is NCCL's and certainly faster than the default (the gain's
/// 95 % interval lies above 1). Ranges of one collective and rank count meet at the geometric mean
/// of neighbouring sizes, so that there is neither gap nor overlap; the first begins at its own
/// size and the last is open. An entry that keeps the default gives no rule and ends the range
/// before it. `left` gets a sentence for each entry that gave none.
[[nodiscard]] std::vector<Rule> rulesOf(const Profile& profile, std::vector<std::string>& left);

/// Entries for every power of two that a rule covers, 1 KiB to 1 GiB, without times: choices to be
/// tried first, not results. Rules for any number of ranks need `nRanks`. A rule for LL128 is left
/// out: it is NCCL's to say where that is safe. Earlier rules win.
[[nodiscard]] std::vector<ProfileEntry> entriesOf(const std::vector<Rule>& rules, int nRanks,
                                                  const std::string& origin);

/// NCCL_ALGO and NCCL_PROTO that allow, per collective, what some winner uses; one variable a line,
/// for releases from 2.24 on. Coarser than rules: NCCL still chooses by size. A collective with an
/// LL128 winner is left to NCCL: a list that allows LL128 forces it where it is not safe. Both
/// variables name the same collectives, as 2.31 wants it. Empty where nothing was won.
[[nodiscard]] std::string environmentOf(const Profile& profile);

/// For programs that call NCCL 2.31's ncclAllReduceConfig and its like: a line per rule,
/// "collective minBytes maxBytes ranks algSelection minCTAs=maxCTAs".
[[nodiscard]] std::string callConfigsOf(const Profile& profile);

}  // namespace autoccl::nccl
