// Sets of CPUs in the two forms that Linux and its tools write them.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

namespace autoccl::topo {

/// CPUs 0 to 8191. A value; copies are 1 KiB. Pure.
class CpuSet {
 public:
  static constexpr size_t kMost = 8192;

  void add(size_t cpu) {
    if (cpu < kMost) bits_.set(cpu);
  }
  [[nodiscard]] bool has(size_t cpu) const { return cpu < kMost && bits_[cpu]; }
  [[nodiscard]] bool empty() const { return bits_.none(); }
  [[nodiscard]] size_t count() const { return bits_.count(); }
  [[nodiscard]] CpuSet both(const CpuSet& other) const {
    CpuSet common;
    common.bits_ = bits_ & other.bits_;
    return common;
  }

  /// "0-3,8"; empty for no CPU.
  [[nodiscard]] std::string list() const;
  /// "000000ff,ffff0000": hexadecimal, 32 CPUs a word, the highest first. "00000000" for no CPU.
  [[nodiscard]] std::string mask() const;
  /// Nothing for a text that is no such list or mask, or names a CPU beyond the last.
  [[nodiscard]] static std::optional<CpuSet> fromList(std::string_view text);
  [[nodiscard]] static std::optional<CpuSet> fromMask(std::string_view text);

  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  std::bitset<kMost> bits_;
};

}  // namespace autoccl::topo
