#include "topo/cpu_set.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "topo/words.h"

namespace autoccl::topo {

std::string CpuSet::list() const {
  std::string out;
  for (size_t cpu = bits_._Find_first(); cpu < kMost;) {
    size_t last = cpu;
    while (last + 1 < kMost && bits_[last + 1]) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(cpu);
    if (last > cpu) out += "-" + std::to_string(last);
    cpu = last + 1 < kMost ? bits_._Find_next(last) : kMost;
  }
  return out;
}

std::string CpuSet::mask() const {
  size_t highest = 0;
  for (size_t cpu = bits_._Find_first(); cpu < kMost; cpu = bits_._Find_next(cpu)) highest = cpu;
  std::string out;
  for (size_t word = highest / 32 + 1; word-- > 0;) {
    uint32_t value = 0;
    for (size_t bit = 0; bit < 32; ++bit) value |= uint32_t{bits_[word * 32 + bit]} << bit;
    char text[16];
    std::snprintf(text, sizeof text, "%s%08x", out.empty() ? "" : ",", value);
    out += text;
  }
  return out;
}

std::optional<CpuSet> CpuSet::fromList(std::string_view text) {
  CpuSet set;
  for (const std::string_view part : split(trimmed(text), ',')) {
    const size_t dash = part.find('-');
    const auto first = wholeNumber(part.substr(0, dash));
    const auto last = dash == part.npos ? first : wholeNumber(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= int64_t{kMost})
      return std::nullopt;
    for (int64_t cpu = *first; cpu <= *last; ++cpu) set.add(static_cast<size_t>(cpu));
  }
  return set;
}

std::optional<CpuSet> CpuSet::fromMask(std::string_view text) {
  const std::vector<std::string_view> words = split(trimmed(text), ',');
  if (words.empty() || words.size() * 32 > kMost) return std::nullopt;
  CpuSet set;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
    uint32_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), end, value, 16);
    if (word.empty() || error != std::errc() || at != end) return std::nullopt;
    for (size_t bit = 0; bit < 32; ++bit)
      if ((value >> bit & 1U) != 0) set.add((words.size() - 1 - i) * 32 + bit);
  }
  return set;
}

}  // namespace autoccl::topo
