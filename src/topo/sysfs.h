// Small files of /sys and /proc below a root.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace autoccl::topo {

/// Thread-compatible; nothing is cached. What cannot be read is empty.
class SysTree {
 public:
  explicit SysTree(std::string root) : root_(std::move(root)) {}

  /// At most 64 KiB of the file; text() without blanks around it.
  [[nodiscard]] std::string bytes(const std::string& path) const;
  [[nodiscard]] std::string text(const std::string& path) const;
  /// Its whole number; `otherwise` where it is none.
  [[nodiscard]] int64_t number(const std::string& path, int64_t otherwise) const;
  /// Names in the folder, sorted.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
  /// Where a link leads in the end, without the root.
  [[nodiscard]] std::string target(const std::string& link) const;
  [[nodiscard]] bool live() const { return root_.empty(); }

 private:
  std::string root_;
};

/// "0000:0a:00.0".
[[nodiscard]] bool isBusId(std::string_view name) noexcept;

}  // namespace autoccl::topo
