// Sizes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace autoccl {

/// Bytes of "65536", "64K", "64KiB" or "65536B"; K, M and G are powers of 1024, in either case.
/// Nothing for any other text and for more than 2^64 - 1.
[[nodiscard]] std::optional<uint64_t> readSize(std::string_view text) noexcept;

}  // namespace autoccl
