// The library as NCCL and the dynamic linker see it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>

#include "edge/nccl/abi/tuner.h"

namespace autoccl::nccl {
namespace {

std::string outputOf(const std::string& command) {
  std::string output;
  std::array<char, 4096> part{};
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return output;
  while (const size_t n = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), n);
  pclose(pipe);
  return output;
}

TEST(Library, OffersEveryPluginToDlsym) {
  void* library = dlopen(PLUGIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto has = [&](const std::string& kind, int first, int last) {
    for (int v = first; v <= last; ++v)
      EXPECT_NE(dlsym(library, (kind + "_v" + std::to_string(v)).c_str()), nullptr) << kind << v;
  };
  has("ncclTunerPlugin", 1, 6);
  has("ncclProfiler", 1, 7);
  has("ncclEnvPlugin", 1, 2);
  auto* tuner = static_cast<TunerV4*>(dlsym(library, "ncclTunerPlugin_v4"));
  dlclose(library);
  void* context = nullptr;  // NCCL may close the library while another communicator still uses it
  EXPECT_EQ(tuner->init(2, 1, nullptr, &context), Result::kSuccess);
  EXPECT_EQ(tuner->destroy(context), Result::kSuccess);
}

TEST(Library, ShowsNothingElse) {
  std::istringstream lines(outputOf("nm -D --defined-only " PLUGIN_LIBRARY));
  std::string address, kind, name;
  int seen = 0;
  while (lines >> address >> kind >> name) {
    EXPECT_EQ(name.rfind("nccl", 0), 0U) << name;
    ++seen;
  }
  EXPECT_GT(seen, 15);
}

#ifndef AUTOCCL_SANITIZED  // their run-time libraries come along, and must be loaded first

TEST(Library, NeedsTheCLibraryAlone) {
  std::istringstream lines(outputOf("readelf -d " PLUGIN_LIBRARY " | grep NEEDED"));
  std::string line;
  while (std::getline(lines, line)) {
    bool known = false;
    for (const char* name : {"[libc.so", "[libm.so", "[libdl.so", "[libpthread.so", "[ld-linux"})
      known = known || line.find(name) != std::string::npos;
    EXPECT_TRUE(known) << line;
  }
  EXPECT_NE(outputOf("readelf -d " PLUGIN_LIBRARY).find("[libnccl-tuner-autoccl.so]"),
            std::string::npos);
}

/// The environment of a program that was started with the library preloaded.
std::string environmentUnder(const std::string& settings) {
  return outputOf("env -u NCCL_TUNER_PLUGIN " + settings + " LD_PRELOAD=" PLUGIN_LIBRARY " env");
}

TEST(Library, PreloadedItNamesItselfToNccl) {
  const std::string set = environmentUnder("");
  EXPECT_NE(set.find("NCCL_TUNER_PLUGIN=libnccl-tuner-autoccl.so\n"), std::string::npos);
  EXPECT_NE(set.find("NCCL_PROFILER_PLUGIN=libnccl-tuner-autoccl.so\n"), std::string::npos);
}

TEST(Library, WhatTheUserHasNamedStays) {
  const std::string set = environmentUnder("NCCL_TUNER_PLUGIN=theirs");
  EXPECT_NE(set.find("NCCL_TUNER_PLUGIN=theirs\n"), std::string::npos);
}

TEST(Library, SwitchedOffItNamesNothing) {
  for (const char* off : {"AUTOCCL_DISABLE=1", "AUTOCCL_TUNE=0"})
    EXPECT_EQ(environmentUnder(off).find("NCCL_"), std::string::npos) << off;
}

TEST(Library, UnderTheEfficiencyPolicyTheTunerNeedsALauncherOfOurs) {
  EXPECT_EQ(environmentUnder("NCCL_CTA_POLICY=1").find("NCCL_TUNER_PLUGIN"), std::string::npos);
  EXPECT_NE(environmentUnder("NCCL_CTA_POLICY=1 AUTOCCL_ID=x").find("NCCL_TUNER_PLUGIN"),
            std::string::npos);
}

#endif

}  // namespace
}  // namespace autoccl::nccl
