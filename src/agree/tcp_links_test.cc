#include "agree/tcp_links.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "agree/key_file.h"
#include "agree/tcp_connection.h"
#include "agree/test_ranks.h"
#include "base/error.h"

namespace autoccl {
namespace {

using Kind = LinkEvent::Kind;

TcpLinks::Options optionsOf(int rank, uint16_t port = 0) {
  TcpLinks::Options options;
  options.rank = rank;
  options.nRanks = 3;
  options.session = 5;
  options.key = kTestKey;
  options.candidates = {{"127.0.0.1", port}};
  return options;
}

bool pollUntil(const std::vector<LinkSet*>& links, std::vector<std::vector<LinkEvent>>& events,
               const std::function<bool()>& holds, int64_t forNs = 5'000'000'000) {
  events.resize(links.size());
  for (const int64_t end = nowNs() + forNs; nowNs() < end;) {
    if (holds()) return true;
    for (size_t i = 0; i < links.size(); ++i) links[i]->poll(nowNs(), events[i]);
  }
  return holds();
}

bool has(const std::vector<LinkEvent>& events, Kind kind, int rank) {
  return std::any_of(events.begin(), events.end(),
                     [&](const LinkEvent& e) { return e.kind == kind && e.rank == rank; });
}

/// A plain socket to rank 0, as a stranger has it.
class Stranger {
 public:
  explicit Stranger(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(port);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof(a)), 0);
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~Stranger() { close(fd_); }
  void say(std::span<const uint8_t> bytes) {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Bytes heard until the other side closes; -1: still open.
  ssize_t heard() {
    uint8_t byte[256];
    for (;;) {
      const ssize_t n = recv(fd_, byte, sizeof(byte), 0);
      if (n < 0 && errno == EAGAIN) return -1;
      if (n <= 0) return total_;
      total_ += n;
    }
  }
  [[nodiscard]] ssize_t total() const { return total_; }

 private:
  int fd_;
  ssize_t total_ = 0;
};

TEST(TcpLinks, TellNothingToAStrangerAndCutItOff) {
  TcpLinks leader(optionsOf(0)), worker(optionsOf(1, leader.port()));
  std::vector<std::vector<LinkEvent>> events;
  ASSERT_TRUE(pollUntil({&leader, &worker}, events, [&] { return has(events[0], Kind::kUp, 1); }));
  std::vector<uint8_t> wrongKey, noise(300, 0xab);
  FrameWriter(MacKey{9}, 5).append(wrongKey, 250, std::vector<uint8_t>(18, 1));
  for (const auto& bytes : {wrongKey, noise}) {
    Stranger stranger(leader.port());
    stranger.say(bytes);
    EXPECT_TRUE(pollUntil({&leader, &worker}, events, [&] { return stranger.heard() == 0; }))
        << "heard " << stranger.total() << " bytes";
  }
  Stranger silent(leader.port());
  EXPECT_TRUE(pollUntil({&leader, &worker}, events, [&] { return silent.heard() == 0; }))
      << "a stranger that says nothing may stay two seconds";
  EXPECT_FALSE(has(events[0], Kind::kDown, 1));
  EXPECT_TRUE(worker.send(0, Ask{1}));
  EXPECT_TRUE(
      pollUntil({&leader, &worker}, events, [&] { return has(events[0], Kind::kMessage, 1); }));
}

TEST(TcpLinks, AReplayedHelloDoesNotTakeAWorkersPlace) {
  TcpLinks leader(optionsOf(0)), worker(optionsOf(1, leader.port()));
  std::vector<std::vector<LinkEvent>> events;
  ASSERT_TRUE(pollUntil({&leader, &worker}, events, [&] { return has(events[0], Kind::kUp, 1); }));
  events[0].clear();
  // The HELLO that rank 1 may have sent: sealed by the right key, with a nonce seen on the wire.
  const uint64_t words[] = {5, 1, 0, 0, 0};
  std::vector<uint8_t> hello, body(18, 0);
  body[0] = 1;
  body[4] = 3;
  FrameWriter(deriveKey(kTestKey, words), 5).append(hello, 250, body);
  Stranger stranger(leader.port());
  stranger.say(hello);
  ASSERT_TRUE(pollUntil({&leader, &worker}, events, [&] {
    (void)stranger.heard();
    return stranger.total() > 0;
  })) << "rank 0 answers a right HELLO with a nonce of its own";
  stranger.say(hello);  // and cannot be brought further without the key
  EXPECT_TRUE(pollUntil({&leader, &worker}, events, [&] { return stranger.heard() > 0; }));
  EXPECT_TRUE(events[0].empty()) << "the worker's link stands untouched";
  EXPECT_TRUE(worker.send(0, Ask{2}));
  EXPECT_TRUE(
      pollUntil({&leader, &worker}, events, [&] { return has(events[0], Kind::kMessage, 1); }));
}

TEST(TcpLinks, ReopenALostConnectionAndConnectWorkersToEachOther) {
  TcpLinks leader(optionsOf(0)), one(optionsOf(1, leader.port())), two(optionsOf(2, leader.port()));
  const std::vector<LinkSet*> all{&leader, &one, &two};
  std::vector<std::vector<LinkEvent>> events;
  ASSERT_TRUE(pollUntil(
      all, events, [&] { return has(events[0], Kind::kUp, 1) && has(events[0], Kind::kUp, 2); }));
  leader.cut(1, true);
  ASSERT_TRUE(pollUntil(all, events, [&] { return has(events[1], Kind::kDown, 0); }));
  EXPECT_FALSE(one.send(0, Ask{1}));
  ASSERT_TRUE(pollUntil(all, events, [&] { return one.send(2, Ask{7}); }))
      << "by the address that rank 0 gave";
  ASSERT_TRUE(pollUntil(all, events, [&] { return has(events[2], Kind::kMessage, 1); }));
  EXPECT_EQ(one.hosts(), std::vector<std::string>{"127.0.0.1"});
  events[0].clear();
  leader.cut(1, false);
  EXPECT_TRUE(pollUntil(all, events, [&] { return has(events[0], Kind::kUp, 1); }));
}

/// A socket that listens and never answers, as another program's does.
class SilentListener {
 public:
  SilentListener() : fd_(listenOn({htonl(INADDR_LOOPBACK), 0}, fault_)) { EXPECT_GE(fd_, 0); }
  ~SilentListener() { close(fd_); }
  [[nodiscard]] uint16_t port() const { return localAddress(fd_).port; }

 private:
  std::string fault_;
  int fd_;
};

TEST(TcpLinks, MeetOnTheFirstCandidateThatIsFreeAndPassStrangersBy) {
  SilentListener stranger, second;
  uint16_t free = 0;
  { free = SilentListener().port(); }
  auto options = optionsOf(0);
  options.candidates = {{"127.0.0.1", stranger.port()},
                        {"192.0.2.1", free},  // no address of this host
                        {"127.0.0.1", free},
                        {"127.0.0.1", second.port()}};
  TcpLinks leader(options);
  EXPECT_EQ(leader.port(), free);
  options.rank = 1;
  TcpLinks worker(options);
  std::vector<std::vector<LinkEvent>> events;
  EXPECT_TRUE(pollUntil({&leader, &worker}, events, [&] { return has(events[0], Kind::kUp, 1); }));
  EXPECT_TRUE(worker.idle(0));
  leader.cut(1, true);
  ASSERT_TRUE(
      pollUntil({&leader, &worker}, events, [&] { return has(events[1], Kind::kDown, 0); }));
  events[1].clear();
  leader.cut(1, false);
  EXPECT_TRUE(pollUntil({&leader, &worker}, events, [&] { return has(events[1], Kind::kUp, 0); }))
      << "and find each other there again";
}

TEST(TcpLinks, MeetWhenTheLeaderComesLast) {
  uint16_t free = 0;
  { free = SilentListener().port(); }
  TcpLinks worker(optionsOf(1, free));
  std::vector<std::vector<LinkEvent>> events;
  EXPECT_FALSE(pollUntil(
      {&worker}, events, [&] { return has(events[0], Kind::kUp, 0); }, 300'000'000));
  TcpLinks leader(optionsOf(0, free));
  EXPECT_TRUE(pollUntil({&worker, &leader}, events, [&] { return has(events[0], Kind::kUp, 0); }));
}

TEST(TcpLinks, SayThatARankLeavesWhichIsNotLosingIt) {
  TcpLinks leader(optionsOf(0));
  std::vector<std::vector<LinkEvent>> events;
  {
    TcpLinks worker(optionsOf(1, leader.port()));
    ASSERT_TRUE(
        pollUntil({&leader, &worker}, events, [&] { return has(events[0], Kind::kUp, 1); }));
    ASSERT_TRUE(leader.send(1, Ask{1}));  // never read
  }
  EXPECT_TRUE(pollUntil({&leader}, events, [&] { return has(events[0], Kind::kLeft, 1); }));
  EXPECT_FALSE(has(events[0], Kind::kDown, 1));
}

TEST(TcpLinks, NameTheAddressThatCannotBeUsed) {
  TcpLinks first(optionsOf(0));
  auto options = optionsOf(0, first.port());
  try {
    TcpLinks second(options);
    FAIL() << "two leaders on one port";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(first.port())), std::string::npos)
        << e.what();
  }
  options.candidates = {{"nowhere", 0}};
  EXPECT_THROW(TcpLinks{options}, Error);
  options = optionsOf(3, first.port());
  EXPECT_THROW(TcpLinks{options}, Error) << "rank 3 of 3";
}

TEST(KeyFile, IsReadOnlyWhenItsOwnerAloneMayRead) {
  const std::string path = testing::TempDir() + "autoccl_key_" + std::to_string(getpid());
  const auto write = [&](size_t bytes, mode_t mode) {
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'k');
    chmod(path.c_str(), mode);
  };
  write(16, 0600);
  MacKey sixteen;
  sixteen.fill('k');
  EXPECT_EQ(readKeyFile(path), sixteen);
  write(40, 0600);
  EXPECT_NE(readKeyFile(path), sixteen);
  write(16, 0640);
  EXPECT_THROW((void)readKeyFile(path), Error) << "the group may read it";
  for (const size_t bytes : {size_t{15}, size_t{5000}}) {
    chmod(path.c_str(), 0600);
    write(bytes, 0600);
    EXPECT_THROW((void)readKeyFile(path), Error) << bytes;
  }
  unlink(path.c_str());
  EXPECT_THROW((void)readKeyFile(path), Error) << "no file";
}

}  // namespace
}  // namespace autoccl
