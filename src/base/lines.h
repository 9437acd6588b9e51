// A text cut into lines, and a list into its parts.
#pragma once

#include <algorithm>
#include <string_view>

namespace autoccl {

/// Calls work(line, number) for each line, from 1 on, without its end ("\n" or "\r\n"). What
/// follows the last end is a line if it is not empty.
template <class Work>
void eachLine(std::string_view text, Work work) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    work(line, number);
  }
}

/// Calls work(part) for each part of a list between separators, empty ones too.
template <class Work>
void eachPart(std::string_view text, char separator, Work work) {
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(separator, from), text.size());
    work(text.substr(from, end - from));
    from = end + 1;
  }
}

}  // namespace autoccl
