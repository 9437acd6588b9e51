// What is wrong, doubtful or without effect in a machine's NCCL settings.
#pragma once

#include <vector>

#include "base/finding.h"
#include "store/nccl/settings.h"

namespace autoccl::nccl {

/// Findings in the order of the settings. `version` is the library's (22809 for 2.28.9); 0:
/// unknown, which is read as the newest. Pure. Checks: values that NCCL reads otherwise than they
/// look; names in the wrong case or with blanks; settings that another source overrides; the
/// grammar of NCCL_ALGO and NCCL_PROTO and what they leave; pairs that contradict each other; sizes
/// and counts out of range; settings that can deadlock, corrupt data or hide a fault; plugin paths
/// that a release does not find.
[[nodiscard]] std::vector<Finding> lintSettings(const Sources& sources, int version);

}  // namespace autoccl::nccl
