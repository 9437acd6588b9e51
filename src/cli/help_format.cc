#include "cli/help_format.h"

#include <sstream>

namespace autoccl::cli {
namespace {

constexpr size_t kWidth = 100;

/// Of "N:INT in [1 - 64]", which CLI11 makes of a type's name and its checks: "From 1 to 64.".
/// Nothing for other checks, whose allowed values stand in the description.
std::string rangeText(const std::string& typeName) {
  const size_t open = typeName.find(" in ["), dash = typeName.find(" - ", open),
               close = typeName.find(']', dash);
  if (close == std::string::npos) return "";
  return "From " + typeName.substr(open + 5, dash - open - 5) + " to " +
         typeName.substr(dash + 3, close - dash - 3) + ".";
}

/// Lines of at most `width` characters where blanks allow it.
std::string wrapped(const std::string& text, size_t width) {
  std::istringstream words(text);
  std::string out, word;
  size_t column = 0;
  while (words >> word) {
    const bool fits = column + 1 + word.size() <= width;
    if (column > 0) out += fits ? ' ' : '\n';
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    out += word;
  }
  return out;
}

}  // namespace

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_positional() || option->get_type_size() == 0) return "";
  const std::string type = option->get_type_name();
  return " " + type.substr(0, type.find(':'));
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
  };
  add(rangeText(option->get_type_name()));
  if (!option->get_default_str().empty()) add("Default: " + option->get_default_str() + ".");
  if (option->get_required() && !option->get_positional()) add("Needed.");
  return wrapped(text, kWidth - get_column_width());
}

}  // namespace autoccl::cli
