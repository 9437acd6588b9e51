// The conductor against ranks of a made-up library: this test program started again as a worker.
#include "bench/group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "base/error.h"
#include "bench/conductor.h"
#include "bench/worker.h"

namespace autoccl::bench {
namespace {

constexpr const char* kBehaviourVariable = "ACCL_BENCH_TEST";
constexpr uint64_t kBytes = 4096;

/// Broadcasts nothing and gathers its own data only, so results are right on one rank and wrong on
/// others; `config` says what else it does.
class MadeUp final : public Library {
 public:
  void prepare(const Command& command, const CallShape&) override {
    config_ = command.config.data();
    if (config_ == "refuse") throw Error(ErrorCode::kUsage, "no such config");
    if (config_ == "die") ::raise(SIGKILL);
    if (config_ == "hang") pause();
    calls_ = 0;
  }
  void call(const CallShape& c) override {
    ++calls_;
    if (config_ == "copy") std::memcpy(c.receive, c.send, c.count * sizeof(float));
  }
  std::string configInEffect() override { return config_ + "!"; }
  bool tuned() override { return calls_ >= 10; }
  std::string space(const Command& command) override {
    return "first\nof " + std::to_string(command.bytes) + "\n";
  }

 private:
  std::string config_;
  int calls_ = 0;
};

/// Runs before main: in a child that Group started, the program is a worker and nothing else.
const bool kWorker = [] {
  if (!std::getenv(kControlVariable)) return false;
  if (std::getenv(kBehaviourVariable)) {
    std::fputs("broken from the start\n", stderr);
    std::exit(7);
  }
  const auto control = openControl();
  MadeUp library;
  std::exit(control ? serve(**control, placeFromEnvironment(), library) : 2);
}();

GroupSpec madeUp() {
  return {"madeup", {"/proc/self/exe"}, false, {}};
}

Command measure(Collective c, const char* config) {
  Command command;
  command.collective = c;
  command.bytes = kBytes;
  command.iterations = 5;
  command.check = true;
  setText(command.config, config);
  return command;
}

std::string messageOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// How often a process has given up its core of its own accord.
int64_t sleepsOf(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/status");
  const std::string key = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
  return -1;
}

std::vector<pid_t> children() {
  std::ifstream in("/proc/self/task/" + std::to_string(getpid()) + "/children");
  std::vector<pid_t> all;
  for (pid_t p = 0; in >> p;) all.push_back(p);
  return all;
}

TEST(BenchGroup, BringsATimeForEachCallAndTheConfigInEffect) {
  Group group(madeUp(), 2, 2);
  const GroupReply reply = group.run(measure(Collective::kAllReduce, "one"), 10);
  EXPECT_EQ(reply.error, "");
  EXPECT_EQ(reply.us.size(), 5u);
  EXPECT_EQ(reply.config, "one!");
}

TEST(BenchGroup, CountsWrongElementsOnEveryRank) {
  Group group(madeUp(), 2, 2);
  const size_t count = kBytes / sizeof(float);
  EXPECT_GT(group.run(measure(Collective::kAllReduce, ""), 10).wrong, count);
  // Rank 0 has the root's data in place; rank 1 got none.
  EXPECT_EQ(group.run(measure(Collective::kBroadcast, ""), 10).wrong, count);
}

TEST(BenchGroup, AResultThatIsRightOnOneRankOfOneIsRight) {
  Group group(madeUp(), 1, 1);
  EXPECT_EQ(group.run(measure(Collective::kAllReduce, ""), 10).wrong, 0u);
  EXPECT_EQ(group.run(measure(Collective::kAllGather, "copy"), 10).wrong, 0u);
}

TEST(BenchGroup, ARefusalIsReportedAndTheGroupGoesOn) {
  Group group(madeUp(), 2, 2);
  EXPECT_EQ(group.run(measure(Collective::kAllReduce, "refuse"), 10).error,
            "rank 0: no such config");
  EXPECT_EQ(group.run(measure(Collective::kAllReduce, "one"), 10).error, "");
}

TEST(BenchGroup, ARankThatDiesIsNamedWithItsSignal) {
  Group group(madeUp(), 2, 2);
  const std::string said =
      messageOf([&] { (void)group.run(measure(Collective::kAllReduce, "die"), 10); });
  EXPECT_NE(said.find("madeup was killed by signal 9"), std::string::npos) << said;
}

TEST(BenchGroup, ARankThatHangsIsGivenUpAndTheGroupIsLost) {
  Group group(madeUp(), 2, 2);
  const auto hang = [&] { (void)group.run(measure(Collective::kAllReduce, "hang"), 0.3); };
  EXPECT_NE(messageOf(hang).find("did not answer"), std::string::npos);
  EXPECT_NE(messageOf(hang).find("is lost"), std::string::npos);
}

TEST(BenchGroup, AGroupThatCannotStartSaysWhatItWrote) {
  GroupSpec spec = madeUp();
  spec.environment = {{kBehaviourVariable, "1"}};
  const std::string said = messageOf([&] { Group group(spec, 2, 2); });
  EXPECT_NE(said.find("ended with status 7"), std::string::npos) << said;
  EXPECT_NE(said.find("broken from the start"), std::string::npos) << said;
}

TEST(BenchGroup, TuningEndsWhenTheLibrarySaysSo) {
  Group group(madeUp(), 2, 2);
  Command command = measure(Collective::kAllReduce, "");
  command.kind = CommandKind::kTune;
  command.iterations = 100000;
  EXPECT_TRUE(group.run(command, 10).tuned);
  command.iterations = 5;
  EXPECT_FALSE(group.run(command, 10).tuned);
}

TEST(BenchGroup, TheSpaceArrivesLineByLine) {
  Group group(madeUp(), 2, 2);
  EXPECT_EQ(group.space(Collective::kAllReduce, 64), (std::vector<std::string>{"first", "of 64"}));
}

TEST(BenchGroup, RanksSleepInTheKernelBetweenCommands) {
  Group group(madeUp(), 2, 2);
  (void)group.run(measure(Collective::kAllReduce, ""), 10);
  const std::vector<pid_t> ranks = children();
  ASSERT_EQ(ranks.size(), 2u);
  usleep(100'000);  // they may still be on their way to sleep
  const int64_t from = nowNs();
  const std::vector<int64_t> before = {sleepsOf(ranks[0]), sleepsOf(ranks[1])};
  usleep(300'000);
  const double seconds = static_cast<double>(nowNs() - from) / 1e9;
  // A rank wakes once a second to see whether the conductor still lives; one that polls
  // wakes thousands of times.
  for (size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_GE(before[r], 1);
    EXPECT_LE(static_cast<double>(sleepsOf(ranks[r]) - before[r]), seconds + 2);
  }
}

TEST(BenchGroup, NoRankOutlivesItsGroup) {
  { Group group(madeUp(), 3, 2); }
  EXPECT_TRUE(children().empty());
}

TEST(BenchConductor, AContenderThatFailsSitsOutAndTheOthersGoOn) {
  Group good(madeUp(), 2, 2);
  Group bad(madeUp(), 2, 2);
  const std::vector<Contender> contenders = {{"good", &good, false, "one", false},
                                             {"refuses", &good, false, "refuse", false},
                                             {"dies", &bad, false, "die", false}};
  Exercise exercise;
  exercise.bytes = kBytes;
  exercise.rounds = 3;
  exercise.roundMs = 1;
  const std::vector<Series> series = measureInterleaved(exercise, contenders);
  EXPECT_EQ(series[0].error, "");
  EXPECT_EQ(series[0].rounds.size(), 3u);
  EXPECT_NE(series[1].error, "");
  EXPECT_NE(series[2].error, "");
}

}  // namespace
}  // namespace autoccl::bench
