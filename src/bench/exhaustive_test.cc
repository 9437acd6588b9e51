#include "bench/exhaustive.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace autoccl::bench {
namespace {

std::string config(int channels, const std::string& chunk, const std::string& wait = "futex") {
  return "twoshot/zero/shm nc=" + std::to_string(channels) + " nt=1 c=" + chunk + " wait=" + wait;
}

TEST(BenchGrid, ThinningKeepsEndsAndSteps) {
  std::vector<std::string> space;
  for (const int channels : {1, 2, 3, 4})
    for (const char* chunk : {"16K", "32K", "64K", "128K"})
      space.push_back(config(channels, chunk));
  std::vector<std::string> expected;
  for (const int channels : {1, 2, 4})
    for (const char* chunk : {"16K", "64K", "128K"}) expected.push_back(config(channels, chunk));
  EXPECT_EQ(thinned(space), expected);
}

TEST(BenchGrid, EachSubspaceIsThinnedOnItsOwn) {
  const std::vector<std::string> space = {config(1, "16K", "futex"), config(1, "32K", "futex"),
                                          config(1, "32K", "spin"), config(1, "64K", "spin")};
  EXPECT_EQ(thinned(space), space);
}

TEST(BenchGrid, ALineThatIsNoConfigIsAnError) {
  EXPECT_THROW((void)thinned({"nonsense"}), Error);
}

}  // namespace
}  // namespace autoccl::bench
