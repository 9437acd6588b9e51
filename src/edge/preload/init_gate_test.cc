#include "edge/preload/init_gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/clock.h"
#include "edge/nccl/identity.h"

namespace autoccl::preload {
namespace {

constexpr const char* kName = "AUTOCCL_INIT_GATE_TEST";

std::string value(const char* name = kName) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "unset";
}

/// What getenv does, in code that a sanitizer can follow.
std::string found() {
  const std::string name = std::string(kName) + "=";
  char** entry = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
  for (; *entry != nullptr; ++entry)
    if (name.compare(0, name.size(), *entry, std::min(name.size(), std::strlen(*entry))) == 0)
      return *entry + name.size();
  return "unset";
}

int64_t soon() {
  return nowNs() + 10'000'000'000;
}

TEST(InitGate, OursSeeTheirVariablesAndTheProgramsComeBack) {
  InitGate gate;
  setenv(kName, "program", 1);
  char** const before = environ;
  ASSERT_TRUE(gate.begin({{kName, "ours"}, {"AUTOCCL_INIT_GATE_OTHER", "1"}}, soon()));
  EXPECT_EQ(value(), "ours");
  EXPECT_EQ(value("AUTOCCL_INIT_GATE_OTHER"), "1");
  gate.end();
  EXPECT_EQ(value(), "program");
  EXPECT_EQ(value("AUTOCCL_INIT_GATE_OTHER"), "unset");
  EXPECT_EQ(environ, before);
}

TEST(InitGate, WhatTheProgramSetsMeanwhileStays) {
  InitGate gate;
  unsetenv(kName);
  ASSERT_TRUE(gate.begin({{kName, "ours"}}, soon()));
  setenv("AUTOCCL_INIT_GATE_NEW", "kept", 1);
  gate.end();
  EXPECT_EQ(value(), "unset");
  EXPECT_EQ(value("AUTOCCL_INIT_GATE_NEW"), "kept");
  unsetenv("AUTOCCL_INIT_GATE_NEW");
}

TEST(InitGate, SeveralGoTogetherUnderTheSameVariablesOnly) {
  InitGate gate;
  ASSERT_TRUE(gate.begin({{kName, "one"}}, soon()));
  EXPECT_TRUE(gate.begin({{kName, "one"}}, soon()));
  EXPECT_FALSE(gate.begin({{kName, "two"}}, nowNs()));
  gate.end();
  EXPECT_EQ(value(), "one") << "the other is still under way";
  gate.end();
  EXPECT_TRUE(gate.begin({{kName, "two"}}, soon()));
  gate.end();
}

TEST(InitGate, TheProgramsInitWaitsForOursAndOursForIt) {
  InitGate gate;
  ASSERT_TRUE(gate.begin({{kName, "ours"}}, soon()));
  std::atomic<bool> passed{false};
  nccl::KnownCommunicator users;
  std::thread program([&] {
    gate.pass([&] { nccl::noteInit(users); });
    passed.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(passed.load());
  gate.end();
  program.join();
  EXPECT_FALSE(gate.begin({{kName, "ours"}}, nowNs())) << "the program's is under way";
  nccl::forgetInit(users);
  EXPECT_TRUE(gate.begin({{kName, "ours"}}, soon()));
  gate.end();
}

TEST(InitGate, AReaderFindsOneEnvironmentOrTheOther) {
  InitGate gate;
  setenv(kName, "program", 1);
  std::atomic<bool> stop{false};
  std::atomic<int> strange{0};
  std::thread reader([&] {
    while (!stop.load()) {
      const std::string seen = found();
      if (seen != "program" && seen != "ours") strange.fetch_add(1);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(gate.begin({{kName, "ours"}}, soon()));
    gate.end();
  }
  stop.store(true);
  reader.join();
  EXPECT_EQ(strange.load(), 0);
}

}  // namespace
}  // namespace autoccl::preload
