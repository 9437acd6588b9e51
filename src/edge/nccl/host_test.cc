// A host that calls every version of the plugins the way NCCL does, and the ways it should not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "edge/nccl/testing/plugins.h"

namespace autoccl::nccl {
namespace {

/// What one call of any tuner version left behind.
struct Asked {
  Result result = Result::kSuccess;
  std::vector<float> table;
  int algo = kAlgoUndefined, proto = kProtoUndefined;
  int nChannels = 0;
};

struct Shape {
  int nAlgos = kAlgos;
  int nProtos = kProtos;
  bool hasTable = true;
};

/// One version of the tuner interface as a host uses it.
class Host {
 public:
  explicit Host(int version) : version_(version) {}

  Result init(size_t nRanks = 2) {
    switch (version_) {
      case 1:
        return ncclTunerPlugin_v1.init(nRanks, 1, nullptr);
      case 2:
        return ncclTunerPlugin_v2.init(nRanks, 1, nullptr, &context_);
      case 3:
        return ncclTunerPlugin_v3.init(nRanks, 1, nullptr, &context_);
      case 4:
        return ncclTunerPlugin_v4.init(nRanks, 1, nullptr, &context_);
      case 5:
        return ncclTunerPlugin_v5.init(&context_, 77, nRanks, 1, nullptr, nullptr, nullptr);
      default:
        return ncclTunerPlugin_v6.init(&context_, 77, nRanks, 1, nullptr, nullptr, nullptr);
    }
  }

  Asked ask(Func func, size_t nBytes, Shape shape = {}) {
    Asked a;
    a.table.assign(static_cast<size_t>(std::max(1, shape.nAlgos * shape.nProtos)), 3.0F);
    a.table[0] = -1;
    const auto rows = shape.hasTable ? reinterpret_cast<CostRows>(a.table.data()) : nullptr;
    const int na = shape.nAlgos, np = shape.nProtos;
    switch (version_) {
      case 1:
        a.result =
            ncclTunerPlugin_v1.getCollInfo(func, nBytes, 0, 0, 1, &a.algo, &a.proto, &a.nChannels);
        break;
      case 2:
        a.result = ncclTunerPlugin_v2.getCollInfo(context_, func, nBytes, 0, 0, 1, &a.algo,
                                                  &a.proto, &a.nChannels);
        break;
      case 3:
        a.result =
            ncclTunerPlugin_v3.getCollInfo(context_, func, nBytes, 1, rows, na, np, &a.nChannels);
        break;
      case 4:
        a.result = ncclTunerPlugin_v4.getCollInfo(context_, func, nBytes, 1, rows, na, np, 0,
                                                  &a.nChannels);
        break;
      case 5:
        a.result = ncclTunerPlugin_v5.getCollInfo(context_, func, nBytes, 1, rows, na, np, 1,
                                                  &a.nChannels);
        break;
      default:
        a.result = ncclTunerPlugin_v6.getCollInfo(context_, func, nBytes, 1, rows, na, np, 1,
                                                  &a.nChannels);
    }
    return a;
  }

  Result end() {
    switch (version_) {
      case 1:
        return ncclTunerPlugin_v1.destroy();
      case 2:
        return ncclTunerPlugin_v2.destroy(context_);
      case 3:
        return ncclTunerPlugin_v3.destroy(context_);
      case 4:
        return ncclTunerPlugin_v4.destroy(context_);
      case 5:
        return ncclTunerPlugin_v5.finalize(context_);
      default:
        return ncclTunerPlugin_v6.finalize(context_);
    }
  }

 private:
  int version_;
  void* context_ = nullptr;
};

bool untouched(const Asked& a) {
  bool same = a.result == Result::kSuccess && a.algo == kAlgoUndefined && a.nChannels == 0 &&
              a.proto == kProtoUndefined && a.table[0] == -1;
  for (size_t i = 1; i < a.table.size(); ++i) same = same && a.table[i] == 3.0F;
  return same;
}

class EveryTuner : public ::testing::TestWithParam<int> {};

TEST_P(EveryTuner, WhoKnowsNothingTouchesNothing) {
  Host host(GetParam());
  EXPECT_EQ(host.init(), Result::kSuccess);
  for (int func = 0; func < kFuncs; ++func)
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{1} << 40})
      EXPECT_TRUE(untouched(host.ask(static_cast<Func>(func), bytes)));
  EXPECT_EQ(host.end(), Result::kSuccess);
}

TEST_P(EveryTuner, SurvivesOddTablesAndFunctions) {
  Host host(GetParam());
  EXPECT_EQ(host.init(), Result::kSuccess);
  for (const Shape shape : {Shape{0, 0, true}, Shape{-1, 3, true}, Shape{6, 3, true},
                            Shape{9, 4, true}, Shape{7, 3, false}})
    EXPECT_TRUE(untouched(host.ask(kFuncAllReduce, 4096, shape)));
  EXPECT_TRUE(untouched(host.ask(static_cast<Func>(12), 4096)));
  EXPECT_TRUE(untouched(host.ask(static_cast<Func>(-3), 4096)));
  EXPECT_EQ(host.end(), Result::kSuccess);
}

TEST_P(EveryTuner, AContextMayBeUsedAfterItsEnd) {
  Host host(GetParam());
  EXPECT_EQ(host.init(), Result::kSuccess);
  EXPECT_EQ(host.end(), Result::kSuccess);
  EXPECT_TRUE(untouched(host.ask(kFuncAllReduce, 4096)));
  EXPECT_EQ(host.end(), Result::kSuccess);
}

TEST_P(EveryTuner, CommunicatorsOfSeveralThreadsDoNotMeet) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([version = GetParam()] {
      for (int round = 0; round < 20; ++round) {
        Host host(version);
        EXPECT_EQ(host.init(static_cast<size_t>(1 + round % 4)), Result::kSuccess);
        for (int i = 0; i < 50; ++i)
          EXPECT_TRUE(untouched(host.ask(kFuncAllGather, static_cast<size_t>(64 * i))));
        EXPECT_EQ(host.end(), Result::kSuccess);
      }
    });
  for (auto& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(V, EveryTuner, ::testing::Range(1, 7));

template <class Profiler, class Event, class StateArgs>
void callWithEverything(Profiler& profiler, void* context, int kinds, StateArgs args) {
  for (int bit = 0; bit <= kinds; ++bit) {
    Event event{};
    event.kind = static_cast<decltype(event.kind)>(uint64_t{1} << bit);
    event.rank = 0;
    void* handle = &event;
    EXPECT_EQ(profiler.startEvent(context, &handle, &event), Result::kSuccess);
    for (const int state : {0, 5, 8, 19, static_cast<int>(kStateKernelChStop), 31}) {
      EXPECT_EQ(profiler.recordEventState(handle, static_cast<EventState>(state), &args),
                Result::kSuccess);
      EXPECT_EQ(profiler.recordEventState(nullptr, static_cast<EventState>(state), nullptr),
                Result::kSuccess);
    }
    EXPECT_EQ(profiler.stopEvent(handle), Result::kSuccess);
  }
  EXPECT_EQ(profiler.startEvent(context, nullptr, nullptr), Result::kSuccess);
  EXPECT_EQ(profiler.stopEvent(nullptr), Result::kSuccess);
  EXPECT_EQ(profiler.finalize(context), Result::kSuccess);
  EXPECT_EQ(profiler.finalize(nullptr), Result::kSuccess);
}

TEST(EveryProfiler, OldOnesSwitchEventsOff) {
  for (auto* init : {ncclProfiler_v1.init, ncclProfiler_v2.init, ncclProfiler_v3.init}) {
    int mask = 0xffff;
    void* context = &mask;
    EXPECT_EQ(init(&context, &mask), Result::kSuccess);
    EXPECT_EQ(mask, 0);
    EXPECT_EQ(context, nullptr);
  }
  callWithEverything<ProfilerV1, EventV1>(ncclProfiler_v1, nullptr, 7, StateArgsV1{});
  callWithEverything<ProfilerV2, EventV2>(ncclProfiler_v2, nullptr, 7, StateArgsV1{});
  callWithEverything<ProfilerV3, EventV3>(ncclProfiler_v3, nullptr, 7, StateArgsV1{});
}

TEST(EveryProfiler, NewOnesTakeEveryKindOfEvent) {
  static int mask = 0;
  void* context = nullptr;
  EXPECT_EQ(ncclProfiler_v4.init(&context, &mask, nullptr, 5, 1, 2, 0, nullptr), Result::kSuccess);
  ASSERT_NE(context, nullptr);
  callWithEverything<ProfilerV4, EventV4>(ncclProfiler_v4, context, 7, StateArgsV4{});
  EXPECT_EQ(ncclProfiler_v5.init(&context, 5, &mask, nullptr, 1, 2, 0, nullptr), Result::kSuccess);
  callWithEverything<ProfilerV5, EventV5>(ncclProfiler_v5, context, 20, StateArgsV4{});
  EXPECT_EQ(ncclProfiler_v6.init(&context, 5, &mask, nullptr, 1, 2, 0, nullptr), Result::kSuccess);
  callWithEverything<ProfilerV6, EventV6>(ncclProfiler_v6, context, 20, StateArgsV4{});
  EXPECT_EQ(ncclProfiler_v7.init(&context, 5, &mask, nullptr, 1, 2, 0, nullptr), Result::kSuccess);
  callWithEverything<ProfilerV7, EventV7>(ncclProfiler_v7, context, 20, StateArgsV4{});
  EXPECT_EQ(mask & ~kEventCollApi, 0) << "nobody is tuned, so nobody wants stamps";
}

TEST(Env, AnswersWithTheEnvironment) {
  EXPECT_EQ(ncclEnvPlugin_v1.init(2, 28, 9, ""), Result::kSuccess);
  EXPECT_EQ(ncclEnvPlugin_v2.init(2, 30, 7, "", nullptr), Result::kSuccess);
  setenv("AUTOCCL_ENV_TEST", "x", 1);
  EXPECT_STREQ(ncclEnvPlugin_v1.getEnv("AUTOCCL_ENV_TEST"), "x");
  EXPECT_EQ(ncclEnvPlugin_v2.getEnv("AUTOCCL_NOT_SET_ANYWHERE"), nullptr);
  EXPECT_EQ(ncclEnvPlugin_v2.getEnv(nullptr), nullptr);
  unsetenv("AUTOCCL_ENV_TEST");
  EXPECT_EQ(ncclEnvPlugin_v1.finalize(), Result::kSuccess);
}

}  // namespace
}  // namespace autoccl::nccl
