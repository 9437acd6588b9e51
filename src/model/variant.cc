#include "model/variant.h"

#include <array>

namespace autoccl {
namespace {

constexpr std::array<std::string_view, kVariants> kText{
    "own",         "few-threads",  "all-threads",     "small-buffers", "large-buffers",
    "shm",         "net",          "four-qps",        "split-qps",     "gdr-anywhere",
    "gdr-nowhere", "four-threads", "sixteen-sockets", "ring-ll",       "ring-simple",
    "tree-ll",     "tree-simple"};

bool isWord(std::string_view word) noexcept {
  for (std::string_view rest = kVariantWords;;) {
    const size_t bar = rest.find('|');
    if (rest.substr(0, bar) == word) return true;
    if (bar == std::string_view::npos) return false;
    rest.remove_prefix(bar + 1);
  }
}

}  // namespace

std::string_view unknownVariantWord(std::string_view list) noexcept {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view word = list.substr(0, comma);
    if (!isWord(word)) return word.empty() ? "," : word;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return {};
}

std::string_view toText(Variant v) noexcept {
  const auto i = static_cast<size_t>(v);
  return i < kText.size() ? kText[i] : std::string_view("?");
}

template <>
std::optional<Variant> fromText(std::string_view text) noexcept {
  for (size_t i = 0; i < kText.size(); ++i)
    if (kText[i] == text) return static_cast<Variant>(i);
  return std::nullopt;
}

}  // namespace autoccl
