// Settings that are spelled right and still do what their author does not expect.
#pragma once

#include <vector>

#include "base/finding.h"
#include "store/nccl/settings.h"

namespace autoccl::nccl {

/// One row of a table for each setting that is looked at. Pure.
[[nodiscard]] std::vector<Finding> lintValues(const Sources& sources);

}  // namespace autoccl::nccl
