// Reads one table's keys strictly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/toml.h"

namespace autoccl::topo {

/// Each key is of its kind and inside its range; none may be left over (done()). Errors are
/// "file:line: reason" and name the table.
class TomlFields {
 public:
  TomlFields(const TomlValue& table, std::string what, const std::string& file)
      : table_(table), what_(std::move(what)), file_(file) {}

  [[nodiscard]] bool has(std::string_view key) const { return table_.find(key) != nullptr; }
  [[nodiscard]] int whole(std::string_view key, int low, int high);
  [[nodiscard]] double number(std::string_view key, double low, double high);
  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] bool flag(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  [[nodiscard]] const TomlValue& table(std::string_view key);
  /// Tables of [[key]]; none where the key is not there.
  [[nodiscard]] std::vector<const TomlValue*> tables(std::string_view key);
  void done() const;
  [[noreturn]] void fail(std::string_view key, const std::string& reason) const;

 private:
  const TomlValue& need(std::string_view key, TomlValue::Kind kind, const char* kindName);

  const TomlValue& table_;
  std::string what_;
  const std::string& file_;
  std::vector<std::string_view> asked_;
};

}  // namespace autoccl::topo
