// What a peer asks the server of regions, and what it answers.
#pragma once

#include <array>
#include <cstdint>

namespace autoccl {

struct RegionRequest {
  std::array<uint8_t, 16> key{};
  uint32_t id = 0;
  uint32_t wantDescriptor = 0;  // 0: only whether the region still lives
};

struct RegionReply {
  uint64_t begin = 0;  // 0: no such region (any more)
  uint64_t bytes = 0;
};

}  // namespace autoccl
