// The sizes that a user writes for a command.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace autoccl::cli {

/// "64K,1M" or ranges "1K:128M:x4" (from, to, factor), in the order given; each 1 to 8G. Throws
/// Error that names the word and what is allowed.
[[nodiscard]] std::vector<uint64_t> sizesFrom(std::string_view text);

/// The parts of a list, empty ones included but for one after the last separator.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char by);

}  // namespace autoccl::cli
