// The date as documents carry it.
#pragma once

#include <string>

namespace autoccl {

/// Now as ISO 8601 in UTC, "2026-11-30T18:00:00Z".
[[nodiscard]] std::string isoDate();

}  // namespace autoccl
