#include "edge/preload/target.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/preload/wrapped.h"

namespace autoccl::preload {

const char* const fakeNcclPath = FAKE_NCCL;

namespace {

const void* here() {
  return reinterpret_cast<const void*>(&here);
}

// Each runs in a process of its own: what is loaded stays loaded.
TEST(TargetDeathTest, WithoutAnyNcclThereIsNone) {
  EXPECT_EXIT(
      {
        const Target target = findTarget("ncclAllReduce", here());
        _exit(target.address == nullptr ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Target, ALibraryOutOfTheGlobalScopeIsFoundAndItsStrongNameIsTaken) {
  ASSERT_NE(fakeNccl(), nullptr) << dlerror();
  ASSERT_EQ(dlsym(RTLD_DEFAULT, "pncclAllReduce"), nullptr) << "the fake must be loaded RTLD_LOCAL";
  const Target target = findTarget("ncclAllReduce", here());
  EXPECT_EQ(target.address, dlsym(fakeNccl(), "pncclAllReduce"));
  EXPECT_EQ(objectPath(target.object), FAKE_NCCL);
}

TEST(Target, OurOwnWrapperIsNeverTheTarget) {
  ASSERT_NE(fakeNccl(), nullptr);
  EXPECT_NE(dlsym(RTLD_DEFAULT, "ncclRecv"), nullptr) << "the wrapper itself is in sight";
  EXPECT_EQ(findTarget("ncclRecv", here()).address, nullptr) << "the fake has none";
}

TEST(Target, ACallerInsideALibraryMeansThatLibrarysOwn) {
  ASSERT_NE(fakeNccl(), nullptr);
  void* other = dlopen(OTHER_NCCL, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(other, nullptr) << dlerror();
  const void* inOther = dlsym(other, "pncclGetVersion");
  EXPECT_EQ(objectPath(findTarget("ncclAllReduce", inOther).object), OTHER_NCCL);
  dlclose(other);
}

TEST(TargetDeathTest, TwoLibrariesAreNoticedAndEachCallerGetsItsOwn) {
  EXPECT_EXIT(
      {
        void* one = fakeNccl();
        void* other = dlopen(OTHER_NCCL, RTLD_NOW | RTLD_LOCAL);
        const void* inOne = dlsym(one, "pncclGetVersion");
        const void* inOther = dlsym(other, "pncclGetVersion");
        Targets targets;
        int wrong = 0;
        wrong += targets.of(Symbol::kAllReduce, inOne) != dlsym(one, "pncclAllReduce");
        wrong += targets.mixed();
        // A second copy's own weak calls reach us as well, by a symbol whose target is known.
        wrong += targets.of(Symbol::kAllReduce, inOther) != dlsym(other, "pncclAllReduce");
        wrong +=
            targets.lookUp(Symbol::kCommInitRank, inOther) != dlsym(other, "pncclCommInitRank");
        wrong += !targets.mixed();
        wrong += targets.of(Symbol::kAllReduce, inOther) != dlsym(other, "pncclAllReduce");
        wrong += targets.of(Symbol::kAllReduce, inOne) != dlsym(one, "pncclAllReduce");
        _exit(wrong);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Target, AnAddressThatNoObjectHoldsHasNoPath) {
  int onTheStack = 0;
  EXPECT_EQ(objectPath(&onTheStack), "");
  EXPECT_EQ(objectPath(here()), "this program");
}

}  // namespace
}  // namespace autoccl::preload
