#include <gtest/gtest.h>

#include "base/error.h"
#include "model/config.h"
#include "model/space.h"
#include "model/task.h"
#include "model/variant.h"

namespace autoccl {
namespace {

TEST(Config, TextIsReadBack) {
  const Config c{Algorithm::kTwoShot, Protocol::kZero, Transport::kCma, 2, 4, 2, 96 << 10};
  EXPECT_EQ(toText(c), "twoshot/zero/cma nc=4 nt=2 c=96K wait=futex");
  EXPECT_EQ(parseConfig(toText(c)), c);
}

TEST(Config, WhatIsLeftToTheEngineReadsAuto) {
  const Config c{Algorithm::kNvlsTree, Protocol::kSimple, Transport::kAuto, 0, 8, 0, 0};
  EXPECT_EQ(toText(c), "nvlstree/simple/auto nc=8 nt=auto c=auto");
  EXPECT_EQ(parseConfig(toText(c)), c);
  EXPECT_EQ(toText(kUntouched), "untouched");
  EXPECT_EQ(parseConfig("untouched"), kUntouched);
}

TEST(Config, ACommunicatorBesideTheUsersIsNamed) {
  const Config c{Algorithm::kRing, Protocol::kSimple, Transport::kAuto, 4, 8, 0, 0};
  EXPECT_EQ(toText(c), "ring/simple/auto nc=8 nt=auto c=auto on=large-buffers");
  EXPECT_EQ(parseConfig(toText(c)), c);
  EXPECT_TRUE(wellFormed(c));
}

TEST(Variant, AWordThatIsNoneIsFoundInAList) {
  EXPECT_EQ(unknownVariantWord(""), "");
  EXPECT_EQ(unknownVariantWord("threads,sockets"), "");
  EXPECT_EQ(unknownVariantWord("threads,thread,x"), "thread");
  EXPECT_EQ(unknownVariantWord("threads,,sockets"), ",");
}

TEST(Config, OnlyAnEngineThatPicksTheTransportPicksCountsToo) {
  Config c{Algorithm::kRing, Protocol::kSimple, Transport::kAuto, 0, 0, 0, 0};
  EXPECT_TRUE(wellFormed(c));
  EXPECT_TRUE(wellFormed(kUntouched));
  c.transport = Transport::kShm;
  EXPECT_FALSE(wellFormed(c));
  EXPECT_THROW((void)parseConfig("ring/simple/shm nc=auto"), Error);
  c.channels = c.threads = 1;
  EXPECT_TRUE(wellFormed(c));
  c.algorithm = Algorithm::kUntouched;
  EXPECT_FALSE(wellFormed(c));
}

TEST(Config, AWrongWordIsNamedWithTheAllowedOnes) {
  try {
    (void)parseConfig("rung/simple/shm");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'rung'"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("ring, tree, hd"), std::string::npos);
  }
  EXPECT_THROW((void)parseConfig("ring/simple"), Error);
  EXPECT_THROW((void)parseConfig("ring/simple/shm nc=0"), Error);
  EXPECT_THROW((void)parseConfig("ring/simple/shm x=1"), Error);
}

TEST(Bytes, ReadAsPeopleWriteThem) {
  EXPECT_EQ(parseBytes("64K", "-b"), 65536u);
  EXPECT_EQ(parseBytes("64KiB", "-b"), 65536u);
  EXPECT_EQ(parseBytes("1M", "-b"), 1048576u);
  EXPECT_EQ(parseBytes("17", "-b"), 17u);
  for (const char* bad : {"", "K", "1.5M", "64KB ", "-1", "99999999999G"})
    EXPECT_THROW((void)parseBytes(bad, "-b"), Error);
}

TEST(SizeClass, IsMonotoneIdempotentAndWithinAQuarterOctave) {
  uint64_t last = 0;
  for (uint64_t b = 1; b < (uint64_t{1} << 33); b += 1 + b / 37) {
    const uint64_t c = sizeClass(b);
    EXPECT_LE(c, b);
    EXPECT_GE(c, last);
    EXPECT_EQ(sizeClass(c), c);
    EXPECT_LT(double(b) / double(c), 1.26) << b;  // 2^(1/4) and the rounding to 16 B
    last = c;
  }
}

TEST(Task, KeysDifferWhenAnyFieldDoes) {
  const Task t{1, Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 2, 1024};
  Task u = t;
  u.bytes = 1088;
  EXPECT_NE(keyOf(t), keyOf(u));
  u = t;
  u.op = ReduceOp::kMax;
  EXPECT_NE(keyOf(t), keyOf(u));
  EXPECT_EQ(toText(t), "allreduce 1K float32 sum x2");
  u = t;
  u.variant = 0x1f;
  EXPECT_NE(keyOf(t), keyOf(u));
  u.dtype = kAnyDataType;
  u.op = kAnyReduceOp;
  EXPECT_EQ(toText(u), "allreduce 1K x2 #1f");
}

TEST(BusFactor, FollowsNcclTests) {
  EXPECT_DOUBLE_EQ(busFactor(Collective::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(busFactor(Collective::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(busFactor(Collective::kBroadcast, 4), 1.0);
}

}  // namespace
}  // namespace autoccl
