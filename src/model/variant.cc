#include "model/variant.h"

#include <array>

namespace autoccl {
namespace {

constexpr std::array<std::string_view, kVariants> kText{
    "own",         "few-threads",  "all-threads",     "small-buffers", "large-buffers",
    "shm",         "net",          "four-qps",        "split-qps",     "gdr-anywhere",
    "gdr-nowhere", "four-threads", "sixteen-sockets", "ring-ll",       "ring-simple",
    "tree-ll",     "tree-simple"};

}  // namespace

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
