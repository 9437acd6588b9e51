#include "topo/words.h"

#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace autoccl::topo {

std::string_view trimmed(std::string_view text) noexcept {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<int64_t> wholeNumber(std::string_view text) noexcept {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty()) return std::nullopt;
  return value;
}

int64_t numberAsC(const std::string& text) noexcept {
  return std::strtoll(text.c_str(), nullptr, 0);
}

void refuse(const std::string& file, int line, const std::string& reason) {
  const std::string place = line > 0 ? file + ":" + std::to_string(line) : file;
  throw Error(ErrorCode::kInput, place + ": " + reason);
}

}  // namespace autoccl::topo
