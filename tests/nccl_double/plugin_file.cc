#include "tests/nccl_double/plugin_file.h"

#include <dlfcn.h>
#include <strings.h>

#include "tests/nccl_double/log.h"

namespace autoccl::nccl_double {
namespace {

constexpr size_t kLongestName = 254;

const char* prefixOf(Plugin kind) {
  switch (kind) {
    case Plugin::kTuner:
      return "libnccl-tuner";
    case Plugin::kProfiler:
      return "libnccl-profiler";
    case Plugin::kEnv:
      break;
  }
  return "libnccl-env";
}

bool isLibraryName(const std::string& name) {
  return name.size() >= 6 && name.starts_with("lib") && name.ends_with(".so");
}

}  // namespace

std::vector<std::string> pluginFiles(const Release& release, Plugin kind, const char* name) {
  const bool set = name != nullptr && *name != 0;
  if (kind == Plugin::kTuner && !release.tunerByDefaultName)
    return set ? std::vector<std::string>{name} : std::vector<std::string>{};
  const std::string prefix = prefixOf(kind);
  if (!set) return {prefix + ".so"};
  const std::string given = std::string(name).substr(0, kLongestName);
  const std::string prefixed = prefix + "-" + given + ".so";
  if (release.bareNamesOnly && kind != Plugin::kEnv)
    return {isLibraryName(given) ? given : prefixed};
  // NCCL compares as many letters as the given name has.
  const bool isStatic =
      release.staticPlugin && strncasecmp(given.c_str(), "STATIC_PLUGIN", given.size()) == 0;
  std::vector<std::string> files{isStatic ? "" : given};
  const bool plain = given.find('/') == std::string::npos && !isLibraryName(given);
  if (plain || release.version < 22800) files.push_back(prefixed);
  return files;
}

void* openPlugin(Plugin kind, const char* name) {
  if (name != nullptr && strcasecmp(name, "none") == 0) return nullptr;
  const int when = kind == Plugin::kTuner && release().version < 22600 ? RTLD_LAZY : RTLD_NOW;
  for (const std::string& file : pluginFiles(release(), kind, name)) {
    void* library = dlopen(file.empty() ? nullptr : file.c_str(), when | RTLD_LOCAL);
    if (library != nullptr) {
      say(Level::kInfo, kSubInit, "plugin file %s opened",
          file.empty() ? "(program)" : file.c_str());
      return library;
    }
    say(Level::kInfo, kSubInit, "plugin file %s: %s", file.c_str(), dlerror());
  }
  return nullptr;
}

}  // namespace autoccl::nccl_double
