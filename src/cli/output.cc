#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "store/file.h"

namespace autoccl::cli {

void writeText(std::string_view text, const std::string& path) {
  if (path != "-") return replaceFile(path, text, Durable::kNo);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(ErrorCode::kSystem, "stdout: cannot write");
}

void writeJson(const Json& document, const std::string& path) {
  writeText(document.pretty(), path);
}

size_t terminalWidth() {
  winsize size{};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string readInput(const std::string& path) {
  auto text = readWholeFile(path);
  if (!text) throw Error(ErrorCode::kInput, path + ": there is no such file");
  return std::move(*text);
}

}  // namespace autoccl::cli
