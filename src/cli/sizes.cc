#include "cli/sizes.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/error.h"
#include "model/config.h"

namespace autoccl::cli {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << 33;

[[noreturn]] void refuseRange(std::string_view word) {
  throw Error(ErrorCode::kUsage, "--sizes: '" + std::string(word) + "' is no range",
              "write FROM:TO:xFACTOR with a factor of 2 or more, as in 1K:128M:x4");
}

uint64_t rangeFactor(std::string_view text, std::string_view word) {
  uint32_t factor = 0;
  if (text.size() < 2 || text[0] != 'x') refuseRange(word);
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), factor);
  if (error != std::errc() || end != text.data() + text.size() || factor < 2) refuseRange(word);
  return factor;
}

uint64_t sizeFrom(std::string_view text) {
  const uint64_t size = parseBytes(text, "--sizes");
  if (size == 0 || size > kLargest)
    throw Error(ErrorCode::kUsage, "--sizes: " + std::string(text) + " is out of range",
                "allowed: 1 to 8G");
  return size;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(by), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<uint64_t> sizesFrom(std::string_view text) {
  std::vector<uint64_t> sizes;
  for (const std::string_view word : split(text, ',')) {
    const auto parts = split(word, ':');
    if (parts.size() <= 1) {
      sizes.push_back(sizeFrom(word));
      continue;
    }
    if (parts.size() != 3) refuseRange(word);
    const uint64_t factor = rangeFactor(parts[2], word);
    const uint64_t last = sizeFrom(parts[1]);
    uint64_t size = sizeFrom(parts[0]);
    if (size > last) refuseRange(word);
    sizes.push_back(size);
    while (size <= last / factor) sizes.push_back(size *= factor);
  }
  if (sizes.empty())
    throw Error(ErrorCode::kUsage, "--sizes: no size is given", "write 64K,1M or 1K:128M:x4");
  return sizes;
}

}  // namespace autoccl::cli
