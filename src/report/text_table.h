// Tables for a terminal: columns as wide as their widest cell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autoccl {

/// Rows of cells under a head. Widths count code points of UTF-8. Thread-compatible.
class TextTable {
 public:
  struct Column {
    std::string head;
    bool right = false;  // numbers
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void row(std::vector<std::string> cells);
  /// Each line ends in a newline and has no blanks before it. With `width` above 0 the last column
  /// is wrapped at blanks so that lines stay within it, where 24 columns are left for it.
  [[nodiscard]] std::string text(size_t width = 0) const;
  [[nodiscard]] std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Code points of a UTF-8 text.
[[nodiscard]] size_t displayWidth(std::string_view text);

/// "1234", "12.3", "0.123": three significant digits or all before the point. "-" for 0.
[[nodiscard]] std::string figure(double value);

/// The same inside a sentence, where nothing is "0".
[[nodiscard]] std::string amount(double value);

/// "1.25x".
[[nodiscard]] std::string factor(double value);

}  // namespace autoccl
