// The parts of an HTML page: cards, sections, tables. One file, no script, nothing from outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autoccl::page {

/// A figure with its name and a remark below it.
struct Card {
  std::string name, figure, remark;
  std::string tone;  // "good", "bad" or empty
};

/// Cells of a table; a cell is text, escaped here. Columns named in `right` are numbers.
struct Table {
  std::vector<std::string> heads;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
};

[[nodiscard]] std::string cards(const std::vector<Card>& cards);
[[nodiscard]] std::string table(const Table& table);
[[nodiscard]] std::string section(std::string_view id, std::string_view title,
                                  std::string_view lead, const std::string& body);
/// Plots side by side, below each other where the page is narrow.
[[nodiscard]] std::string figures(const std::vector<std::string>& svgs);
[[nodiscard]] std::string fold(const std::string& title, const std::string& remark,
                               const std::string& body, bool open);
/// Name and value, one pair a line.
[[nodiscard]] std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs);
[[nodiscard]] std::string list(const std::vector<std::string>& sentences, std::string_view tone);
/// The whole document.
[[nodiscard]] std::string document(const std::string& title, const std::string& body);

}  // namespace autoccl::page
