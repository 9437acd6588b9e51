// A strict part of TOML 1.0: what a description written by hand needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace autoccl::topo {

struct TomlMember;

/// One value with the line it began on. Tables keep the order of their keys.
struct TomlValue {
  enum class Kind : uint8_t { kText, kInteger, kNumber, kFlag, kList, kTable };

  Kind kind = Kind::kTable;
  int line = 0;
  std::string text;
  int64_t integer = 0;
  double number = 0;  // of an integer too
  bool flag = false;
  std::vector<TomlValue> items;     // of a list
  std::vector<TomlMember> members;  // of a table
  bool closed = false;              // written as a value: no header may add to it
  bool headed = false;              // has its [header]

  [[nodiscard]] const TomlValue* find(std::string_view key) const;
};

struct TomlMember {
  std::string key;
  TomlValue value;
};

/// The document as one table. Read are comments, bare and quoted and dotted keys, [tables],
/// [[lists of tables]], strings on one line, whole and decimal numbers, true and false, arrays,
/// inline tables. Dates, strings over several lines and anything else are refused: Error
/// "file:line: reason", as for a key twice and nesting deeper than 32. O(bytes x keys of a table).
[[nodiscard]] TomlValue parseToml(std::string_view text, const std::string& file);

}  // namespace autoccl::topo
