#include "transport/rendezvous.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "transport/unix_socket.h"

namespace autoccl {
namespace {

JoinRequest requestOf(const UniqueId& id, int rank, int nRanks) {
  JoinRequest request;
  request.id = id;
  request.rank = rank;
  request.nRanks = nRanks;
  request.bytes = 4096;
  request.timeoutNs = 5'000'000'000;
  return request;
}

std::string errorOf(const JoinRequest& request) {
  try {
    (void)joinSegment(request);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Rendezvous, ThreadsOfOneProcessShareOneMapping) {
  const UniqueId id = newUniqueId();
  std::vector<std::shared_ptr<Segment>> segments(4);
  std::vector<std::thread> ranks;
  ranks.reserve(4);
  for (int r = 0; r < 4; ++r)
    ranks.emplace_back(
        [&, r] { segments[static_cast<size_t>(r)] = joinSegment(requestOf(id, r, 4)); });
  for (auto& rank : ranks) rank.join();
  for (const auto& segment : segments) EXPECT_EQ(segment, segments[0]);
  EXPECT_NE(segments[0]->session, 0U);
}

TEST(Rendezvous, ProcessesSeeTheSameBytesAndLeaveNoName) {
  const UniqueId id = newUniqueId();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto segment = joinSegment(requestOf(id, 1, 2));
    segment->mapping.data()[7] = std::byte{42};
    ::_exit(0);
  }
  const auto segment = joinSegment(requestOf(id, 0, 2));
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(segment->mapping.data()[7], std::byte{42});
  std::ifstream names("/proc/net/unix");
  const std::string all(std::istreambuf_iterator<char>(names), {});
  EXPECT_FALSE(contains(all, id.bytes.data() + 24));  // the name stands behind magic and key
}

TEST(Rendezvous, MissingRanksAreNamedToAllWhoCame) {
  const UniqueId id = newUniqueId();
  std::string late;
  std::thread second([&] {
    JoinRequest request = requestOf(id, 2, 4);
    late = errorOf(request);
  });
  JoinRequest first = requestOf(id, 0, 4);
  first.timeoutNs = 300'000'000;
  const std::string text = errorOf(first);
  second.join();
  EXPECT_TRUE(contains(text, "rank 1, 3")) << text;
  EXPECT_TRUE(contains(late, "rank 1, 3")) << late;
}

TEST(Rendezvous, AMissingRankZeroIsNamed) {
  JoinRequest request = requestOf(newUniqueId(), 1, 2);
  request.timeoutNs = 100'000'000;
  EXPECT_TRUE(contains(errorOf(request), "rank 0 did not come"));
}

TEST(Rendezvous, RanksThatDoNotFitAreRefusedByReason) {
  struct Case {
    int rank, nRanks;
    uint64_t layout;
    const char* says;
  };
  for (const Case& c : {Case{1, 3, 0, "counts 3 ranks"}, Case{1, 2, 9, "another version"},
                        Case{0, 2, 0, "one unique id"}}) {
    const UniqueId id = newUniqueId();
    JoinRequest other = requestOf(id, c.rank, c.nRanks);
    other.layout = c.layout;
    std::string told;
    std::atomic<bool> ready{false};
    std::thread host([&] {
      ready = true;
      JoinRequest request = requestOf(id, 0, 2);
      request.timeoutNs = 400'000'000;
      const std::string text = errorOf(request);
      EXPECT_FALSE(text.empty());
    });
    while (!ready) std::this_thread::yield();
    const timespec pause{0, 50'000'000};
    ::nanosleep(&pause, nullptr);
    told = errorOf(other);
    host.join();
    EXPECT_TRUE(contains(told, c.says)) << told;
  }
}

TEST(Rendezvous, AStrangerWithoutTheKeyChangesNothing) {
  const UniqueId id = newUniqueId();
  std::thread host([&] { EXPECT_EQ(errorOf(requestOf(id, 0, 2)), ""); });
  Fd socket;  // the host listens until rank 1 comes, and that is after the stranger
  while (!socket) socket = connectTo(id.bytes.data() + 24);
  const char noise[64] = {1, 2, 3};
  (void)sendAll(socket, noise, sizeof noise, -1, nowNs() + 1'000'000'000);
  socket.reset();
  EXPECT_EQ(errorOf(requestOf(id, 1, 2)), "");
  host.join();
}

TEST(Rendezvous, TokensAreCheckedAndIdsToo) {
  EXPECT_EQ(uniqueIdFrom("job-1"), uniqueIdFrom("job-1"));
  EXPECT_FALSE(uniqueIdFrom("job-1") == uniqueIdFrom("job-2"));
  EXPECT_THROW((void)uniqueIdFrom(""), Error);
  EXPECT_THROW((void)uniqueIdFrom("a b"), Error);
  EXPECT_THROW(checkUniqueId(UniqueId{}), Error);
}

}  // namespace
}  // namespace autoccl
