#include "tests/nccl_double/environment.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "edge/nccl/abi/env.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/plugin_file.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

using GetEnv = const char* (*)(const char*);

template <class Plugin, class... More>
GetEnv tryInterface(void* library, int version, More... more) {
  const std::string symbol = "ncclEnvPlugin_v" + std::to_string(version);
  const auto* plugin = static_cast<Plugin*>(dlsym(library, symbol.c_str()));
  if (plugin == nullptr) return nullptr;
  const int code = release().version;
  const auto part = [&](int unit) { return static_cast<uint8_t>(code / unit % 100); };
  if (plugin->init(part(10000), part(100), part(1), "", more...) != nccl::Result::kSuccess)
    return nullptr;
  say(Level::kInfo, kSubEnv, "ENV/Plugin: using %s (v%d)", plugin->name, version);
  return plugin->getEnv;
}

GetEnv loadPlugin() {
  if (release().envNewest == 0) return nullptr;
  const char* name = std::getenv("NCCL_ENV_PLUGIN");
  void* library = openPlugin(Plugin::kEnv, name);
  if (library == nullptr) return nullptr;
  GetEnv found = nullptr;
  if (release().envNewest >= 2) found = tryInterface<nccl::EnvV2>(library, 2, pluginLogger());
  if (found == nullptr) found = tryInterface<nccl::EnvV1>(library, 1);
  return found;
}

GetEnv pluginGetEnv() {
  static std::once_flag once;
  static GetEnv loaded = nullptr;
  std::call_once(once, [] { loaded = loadPlugin(); });
  return loaded;
}

bool notCached(const char* name) {
  static const char* list = release().noCache ? variable("NCCL_NO_CACHE") : nullptr;
  if (list == nullptr) return false;
  if (std::strcmp(list, "ALL") == 0) return true;
  const std::string names = "," + std::string(list) + ",";
  return names.find("," + std::string(name) + ",") != std::string::npos;
}

int64_t number(const char* name, int64_t fallback) {
  const char* text = variable(name);
  if (text == nullptr || *text == 0) return fallback;
  char* end = nullptr;
  const int64_t value = std::strtoll(text, &end, 0);
  return *end == 0 ? value : fallback;
}

}  // namespace

const char* variable(const char* name) {
  const GetEnv get = pluginGetEnv();
  return get != nullptr ? get(name) : std::getenv(name);
}

int64_t Parameter::value() {
  if (notCached(name_)) {
    say(Level::kInfo, kSubEnv, "%s is read without a cache", name_);
    return number(name_, fallback_);
  }
  if (!read_.load(std::memory_order_acquire)) {
    cached_.store(number(name_, fallback_), std::memory_order_relaxed);
    read_.store(true, std::memory_order_release);
  }
  return cached_.load(std::memory_order_relaxed);
}

}  // namespace autoccl::nccl_double
