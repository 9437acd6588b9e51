#include "base/size_text.h"

#include <charconv>

namespace autoccl {
namespace {

/// log2 of what a unit multiplies by; nothing where it is no unit.
std::optional<int> shiftOf(std::string_view unit) noexcept {
  if (unit.empty() || unit == "B") return 0;
  if (unit.size() == 3 && unit.substr(1) == "iB") unit.remove_suffix(2);
  if (unit == "K" || unit == "k") return 10;
  if (unit == "M" || unit == "m") return 20;
  if (unit == "G" || unit == "g") return 30;
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> readSize(std::string_view text) noexcept {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  const auto shift = shiftOf(text.substr(static_cast<size_t>(end - text.data())));
  if (!shift || value > (UINT64_MAX >> *shift)) return std::nullopt;
  return value << *shift;
}

}  // namespace autoccl
