// What commands print.
#pragma once

#include <string>
#include <string_view>

#include "store/json.h"

namespace autoccl::cli {

/// Writes to `path`, or to stdout where it is "-". Throws Error naming the path where it cannot.
void writeText(std::string_view text, const std::string& path);
void writeJson(const Json& document, const std::string& path);

/// Columns of the terminal on stdout; 0 where stdout is no terminal, so that nothing is wrapped.
[[nodiscard]] size_t terminalWidth();

/// The whole of a file that must be there. Throws Error naming it.
[[nodiscard]] std::string readInput(const std::string& path);

}  // namespace autoccl::cli
