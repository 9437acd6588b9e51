// Small readers of text that the formats of this room share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autoccl::topo {

/// Without blanks, tabs and ends of line around it.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;
/// Parts between separators; "a,,b" has an empty one in the middle, "" has none.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// Lower case, ASCII only.
[[nodiscard]] std::string lower(std::string_view text);
/// The whole text as a decimal number, "-" allowed; nothing for anything else.
[[nodiscard]] std::optional<int64_t> wholeNumber(std::string_view text) noexcept;
/// As strtol with base 0 takes it, which is how NCCL reads its attributes: "0x10" is 16, what
/// follows the number is ignored, no number is 0.
[[nodiscard]] int64_t numberAsC(const std::string& text) noexcept;

/// Throws Error (kInput) "file:line: reason"; with line 0 "file: reason".
[[noreturn]] void refuse(const std::string& file, int line, const std::string& reason);

}  // namespace autoccl::topo
