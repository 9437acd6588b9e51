#include "base/log.h"

#include <unistd.h>

#include <string>

#include "base/error.h"
#include "base/settings.h"

namespace autoccl {
namespace {

void writeOut(std::string_view line) noexcept {
  try {
    const std::string text = "autoccl: " + std::string(line) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  } catch (...) {  // no memory for a log line: it is lost
  }
}

LogLevel readLevel() noexcept {
  try {
    const std::string word = settingText("AUTOCCL_LOG");
    if (word == "off") return LogLevel::kOff;
    if (word == "info") return LogLevel::kInfo;
    if (word == "debug") return LogLevel::kDebug;
  } catch (const std::exception& error) {
    writeOut(error.what());
  }
  return LogLevel::kWarn;
}

}  // namespace

LogLevel logLevel() noexcept {
  static const LogLevel level = readLevel();
  return level;
}

void logLine(LogLevel level, std::string_view line) noexcept {
  if (level <= logLevel() && level != LogLevel::kOff) writeOut(line);
}

}  // namespace autoccl
