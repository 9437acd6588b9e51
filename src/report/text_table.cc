#include "report/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastWrapped = 24;

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  for (size_t from = 0; from < text.size();) {
    size_t to = text.size();
    if (to - from > width) {
      const size_t blank = text.rfind(' ', from + width);
      to = blank != std::string::npos && blank > from ? blank : text.find(' ', from + width);
      if (to == std::string::npos) to = text.size();
    }
    lines.push_back(text.substr(from, to - from));
    from = text.find_first_not_of(' ', to);
    if (from == std::string::npos) break;
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string blanks(width - std::min(width, displayWidth(text)), ' ');
  return right ? blanks + text : text + blanks;
}

void appendLine(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

std::string escapedBars(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

size_t displayWidth(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void TextTable::row(std::vector<std::string> cells) {
  ACCL_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(size_t width) const {
  std::vector<std::string> heads;
  std::vector<size_t> widths;
  for (const Column& column : columns_) {
    heads.push_back(column.head);
    widths.push_back(displayWidth(column.head));
  }
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], displayWidth(row[i]));
  size_t before = 0;  // of the last column
  for (size_t i = 0; i + 1 < widths.size(); ++i) before += widths[i] + kGap;
  size_t last = std::string::npos / 2;
  if (width >= before + kLeastWrapped) last = width - before;

  std::string out;
  const auto print = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i + 1 < cells.size(); ++i)
      line += padded(cells[i], widths[i], columns_[i].right) + std::string(kGap, ' ');
    const auto& end = columns_.back();
    const auto parts = end.right ? std::vector{padded(cells.back(), widths.back(), true)}
                                 : wrapped(cells.back(), last);
    appendLine(out, line + parts[0]);
    for (size_t i = 1; i < parts.size(); ++i) appendLine(out, std::string(before, ' ') + parts[i]);
  };
  print(heads);
  for (const auto& row : rows_) print(row);
  return out;
}

std::string TextTable::markdown() const {
  std::string out = "|", rule = "|";
  for (const Column& column : columns_) {
    out += " " + column.head + " |";
    rule += column.right ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : rows_) {
    out += "|";
    for (const std::string& cell : row) out += " " + escapedBars(cell) + " |";
    out += "\n";
  }
  return out;
}

std::string figure(double value) {
  if (value == 0 || !std::isfinite(value)) return "-";
  const double size = std::fabs(value);
  const int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string amount(double value) {
  return value == 0 ? "0" : figure(value);
}

std::string factor(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2fx", value);
  return text;
}

}  // namespace autoccl
