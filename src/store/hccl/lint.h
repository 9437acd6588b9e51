// HCCL's environment: what its variables may be, and names that are none of them.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"

namespace autoccl::hccl {

struct Setting {
  std::string name, value, where;
};

/// Variables of `environment` ("NAME=value") that begin with HCCL_.
[[nodiscard]] std::vector<Setting> settingsOf(const char* const* environment);

/// Values that HCCL does not take, pairs that contradict each other, and names that articles give
/// and HCCL does not have, each with the true way. Pure. Source: HCCL's environment reference,
/// CANN 8.0 to 8.3.
[[nodiscard]] std::vector<Finding> lintSettings(const std::vector<Setting>& settings);

}  // namespace autoccl::hccl
