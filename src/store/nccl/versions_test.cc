#include "store/nccl/versions.h"

#include <gtest/gtest.h>

namespace autoccl::nccl {
namespace {

TEST(Versions, EveryReleaseFindsItsRow) {
  EXPECT_EQ(versionRow(21700), nullptr);
  EXPECT_EQ(versionRow(22809)->tuner, 5);
  EXPECT_EQ(versionRow(22809)->chunk, Lever::kVariant);
  EXPECT_EQ(versionRow(23003)->chunk, Lever::kCall);
  EXPECT_EQ(versionRow(22005)->channels, Lever::kVariant);
  EXPECT_TRUE(versionRow(29900)->assumed);
}

}  // namespace
}  // namespace autoccl::nccl
