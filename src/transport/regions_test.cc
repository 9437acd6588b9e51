#include "transport/regions.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "transport/cma.h"
#include "transport/liveness.h"

namespace autoccl {
namespace {

Regions& regions() {
  return Regions::ofProcess();
}

TEST(Regions, FindTheWholeBufferOrNothing) {
  auto* a = static_cast<std::byte*>(regions().allocate(10000));
  const uint32_t id = regions().idOf(a, 10000);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(regions().idOf(a + 4000, 100), id);
  EXPECT_EQ(regions().idOf(a + 4000, 100000), 0U);
  EXPECT_EQ(regions().idOf(a - 1, 2), 0U);
  int local = 0;
  EXPECT_EQ(regions().idOf(&local, sizeof local), 0U);
  EXPECT_TRUE(regions().release(a));
  EXPECT_EQ(regions().idOf(a, 1), 0U);
  EXPECT_FALSE(regions().release(a));
}

TEST(Regions, LookUpsStayRightWhileOthersComeAndGo) {
  auto* fixed = static_cast<std::byte*>(regions().allocate(4096));
  const uint32_t id = regions().idOf(fixed, 1);
  std::atomic<bool> stop{false};
  std::thread churn([&] {
    for (int i = 0; i < 300; ++i) regions().release(regions().allocate(4096));
    stop = true;
  });
  while (!stop) ASSERT_EQ(regions().idOf(fixed, 4096), id);
  churn.join();
  regions().release(fixed);
}

TEST(Regions, APeerMapsThemAndSeesThemGo) {
  auto* memory = static_cast<char*>(regions().allocate(4096));
  std::strcpy(memory, "from the owner");
  const uint32_t id = regions().idOf(memory, 4096);
  const RegionServerAddress address = regions().serve();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto region = mapPeerRegion(address, id);
    const bool good = region && region->ownerBegin == reinterpret_cast<uint64_t>(memory) &&
                      std::strcmp(reinterpret_cast<char*>(region->local), "from the owner") == 0;
    if (good) std::strcpy(reinterpret_cast<char*>(region->local), "from the peer");
    const bool none = mapPeerRegion(address, id + 1000) == nullptr;
    RegionServerAddress stranger = address;
    stranger.key[0] ^= 1;
    stranger.process ^= 2;
    const bool refused = mapPeerRegion(stranger, id) == nullptr;
    ::_exit(good && none && refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(memory, "from the peer");
  regions().release(memory);
}

TEST(Regions, RemappingKeepsContentsAndOnlyTakesWholePages) {
  const size_t page = pageBytes();
  auto* memory = static_cast<char*>(
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(memory, 3, 4 * page);
  EXPECT_EQ(regions().remap(memory + 1, page), 0U);
  const uint32_t id = regions().remap(memory + 1, 4 * page - 1);
  ASSERT_NE(id, 0U);
  EXPECT_EQ(regions().idOf(memory + page, 3 * page), id);
  EXPECT_EQ(regions().idOf(memory, page), 0U);
  EXPECT_EQ(regions().remap(memory + page, page), id);
  EXPECT_EQ(memory[2 * page], 3);
  memory[2 * page] = 4;
  EXPECT_TRUE(regions().unmap(id));
  EXPECT_EQ(memory[2 * page], 4);
  EXPECT_FALSE(regions().unmap(id));
  ::munmap(memory, 4 * page);
}

TEST(Liveness, SeesAProcessEndAndForgivesTheOthers) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  Liveness liveness;
  liveness.watch(1, child);
  liveness.watch(2, ::getppid());
  EXPECT_FALSE(liveness.dead(1));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(liveness.dead(1));
  EXPECT_FALSE(liveness.dead(2));
  EXPECT_EQ(liveness.findDead([](int rank) { return rank != 1; }), -1);
  Liveness late;
  late.watch(3, child);
  EXPECT_TRUE(late.dead(3));
}

TEST(Cma, CopiesBetweenProcessesAndRefusesBadAddresses) {
  uint64_t here = 77, there = 0;
  EXPECT_TRUE(cmaRead(::getpid(), reinterpret_cast<uint64_t>(&here), &there, sizeof here));
  EXPECT_EQ(there, 77U);
  there = 5;
  EXPECT_TRUE(cmaWrite(::getpid(), reinterpret_cast<uint64_t>(&here), &there, sizeof there));
  EXPECT_EQ(here, 5U);
  EXPECT_FALSE(cmaRead(::getpid(), 8, &there, sizeof there));
}

}  // namespace
}  // namespace autoccl
