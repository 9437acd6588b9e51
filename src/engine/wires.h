// Memory that the step plans' wires take in the segment.
#pragma once

#include <cstddef>

namespace autoccl {

[[nodiscard]] size_t wireBytes(int nRanks) noexcept;

}  // namespace autoccl
