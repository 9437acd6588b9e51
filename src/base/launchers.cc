#include "base/launchers.h"

#include <cstdlib>
#include <string_view>

namespace autoccl {

std::string launchedRankText() {
  for (const Launcher& l : kLaunchers) {
    const char* value = std::getenv(l.rank);
    const std::string_view text = value != nullptr ? value : "";
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos)
      return std::string(text);
  }
  return "";
}

}  // namespace autoccl
