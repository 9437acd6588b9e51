#include "tests/nccl_double/log.h"

#include <strings.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace autoccl::nccl_double {
namespace {

thread_local std::string lastText;

Level levelNow() {
  static const Level level = [] {
    const char* text = std::getenv("NCCL_DEBUG");
    if (text == nullptr) return Level::kNone;
    if (strcasecmp(text, "VERSION") == 0) return Level::kVersion;
    if (strcasecmp(text, "WARN") == 0) return Level::kWarn;
    return strcasecmp(text, "INFO") == 0 || strcasecmp(text, "TRACE") == 0 ? Level::kInfo
                                                                           : Level::kNone;
  }();
  return level;
}

unsigned long subsystemsNow() {
  static const unsigned long mask = [] {
    const char* text = std::getenv("NCCL_DEBUG_SUBSYS");
    if (text == nullptr) return kSubInit | kSubEnv;
    const std::string names = text;
    unsigned long chosen = 0;
    if (names.find("INIT") != std::string::npos) chosen |= kSubInit;
    if (names.find("COLL") != std::string::npos) chosen |= kSubColl;
    if (names.find("TUNING") != std::string::npos) chosen |= kSubTuning;
    if (names.find("ENV") != std::string::npos) chosen |= kSubEnv;
    if (names.find("ALL") != std::string::npos) chosen = ~0UL;
    return chosen;
  }();
  return mask;
}

void print(const char* word, const char* text) {
  char line[1200];
  const int length =
      std::snprintf(line, sizeof line, "double:%d NCCL %s %s\n", getpid(), word, text);
  if (length > 0) {
    const auto bytes = std::min(static_cast<size_t>(length), sizeof line - 1);
    if (write(STDOUT_FILENO, line, bytes) < 0) return;
  }
}

void logForPlugin(nccl::LogLevel level, unsigned long subsystems, const char* file, int line,
                  const char* format, ...) {
  (void)file;
  (void)line;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (level == nccl::LogLevel::kWarn)
    warn("%s", text);
  else
    say(Level::kInfo, subsystems, "%s", text);
}

}  // namespace

void say(Level level, unsigned long subsystems, const char* format, ...) {
  if (level > levelNow() || (subsystems & subsystemsNow()) == 0) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  print("INFO", text);
}

void warn(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  lastText = text;
  if (levelNow() >= Level::kWarn) print("WARN", text);
}

const char* lastWarning() {
  return lastText.c_str();
}

nccl::Logger pluginLogger() {
  return std::getenv("NCCL_DOUBLE_NO_LOGGER") != nullptr ? nullptr : logForPlugin;
}

}  // namespace autoccl::nccl_double
