#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "cli/job.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "cli/testing/command.h"
#include "store/file.h"
#include "store/machine.h"
#include "store/profile.h"
#include "store/testing/sample_record.h"

namespace autoccl::cli {
namespace {

std::vector<RankCommand> shells(int n, const std::string& script) {
  std::vector<RankCommand> ranks;
  ranks.reserve(n);
  for (int r = 0; r < n; ++r)
    ranks.push_back({{"sh", "-c", script}, {{"R", std::to_string(r)}}, {}});
  return ranks;
}

Lookup lookupIn(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    for (const auto& [key, value] : variables)
      if (key == name) return value;
    return std::nullopt;
  };
}

/// A record of this machine, as a leader would write it.
std::string leadersRecord() {
  RunRecord record = sampleRecord();
  record.state = "running";
  record.machine = fingerprintOf(readMachine());
  return writeRunRecord(record);
}

TEST(Launch, EveryLaunchersVariablesAreUnderstood) {
  for (const auto& [launcher, rank, size] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"torchrun", "RANK", "WORLD_SIZE"},
           {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
           {"MPICH", "PMI_RANK", "PMI_SIZE"},
           {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}) {
    const auto found = launchedRank(lookupIn({{rank, "3"}, {size, "8"}}));
    ASSERT_TRUE(found) << launcher;
    EXPECT_EQ(found->launcher, launcher);
    EXPECT_EQ(found->rank, 3);
    EXPECT_EQ(found->nRanks, 8);
    EXPECT_FALSE(launchedRank(lookupIn({{rank, "3"}}))) << "a rank without a size is no launcher";
    EXPECT_THROW((void)launchedRank(lookupIn({{rank, "8"}, {size, "8"}})), Error);
    EXPECT_THROW((void)launchedRank(lookupIn({{rank, "x"}, {size, "8"}})), Error);
  }
}

TEST(Launch, EachRankGetsItsOwnCoresAndWithTooFewATurn) {
  const std::vector<int> cores{0, 1, 4, 5, 6, 9, 10};
  for (int n = 1; n <= 7; ++n) {
    std::vector<int> all;
    for (int r = 0; r < n; ++r) {
      const auto mine = coresOf(r, n, cores);
      EXPECT_FALSE(mine.empty());
      all.insert(all.end(), mine.begin(), mine.end());
    }
    EXPECT_EQ(all, cores) << n;
  }
  EXPECT_EQ(coresOf(8, 9, cores), std::vector<int>{1});
}

TEST(Launch, JobNamesFitTheirSettingAndDiffer) {
  EXPECT_EQ(newJobId().size(), 32u);
  EXPECT_NE(newJobId(), newJobId());
}

TEST(Job, EndsWithZeroWhenAllRanksDo) {
  const JobEnd end = runJob(shells(3, "exit 0"), {});
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.text(), "");
}

TEST(Job, ARankThatFailsEndsTheOthersAndGivesItsStatus) {
  JobOptions options;
  options.graceSeconds = 0.1;
  const int64_t begun = nowNs();
  const JobEnd end = runJob(shells(3, "[ $R = 1 ] && exit 7; sleep 60"), options);
  EXPECT_EQ(end.status, 7);
  EXPECT_EQ(end.failedRank, 1);
  EXPECT_LT(nowNs() - begun, 30'000'000'000);
}

TEST(Job, ARankThatIsKilledIsNamedWithItsSignal) {
  const JobEnd end = runJob(shells(2, "[ $R = 0 ] && kill -SEGV $$; exit 0"), {});
  EXPECT_EQ(end.status, 128 + SIGSEGV);
  EXPECT_EQ(end.failedRank, 0);
  EXPECT_NE(end.text().find("rank 0 was killed by signal 11"), std::string::npos);
}

TEST(Job, ARankThatIgnoresTheEndIsKilled) {
  JobOptions options;
  options.timeoutSeconds = 0.2;
  const JobEnd end = runJob(shells(2, "trap '' TERM INT; while :; do sleep 1; done"), options);
  EXPECT_TRUE(end.timedOut);
  EXPECT_EQ(end.status, 1);
}

TEST(Job, AProgramThatCannotRunIsBadUsage) {
  try {
    (void)runJob({{{"./no-such-program"}, {}, {}}}, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(e.what()).find("./no-such-program"), std::string::npos);
  }
}

TEST(Job, RecordsOfLeadersInSeveralProcessesAreJoined) {
  const TestFolder folder;
  const std::string record = folder / "sample.json";
  replaceFile(record, leadersRecord(), Durable::kNo);
  const size_t tasks = sampleRecord().tasks.size();
  const std::string script = "cp " + record + " $AUTOCCL_RESULT; cp " + record +
                             " $AUTOCCL_RESULT.3; cp " + record + " $AUTOCCL_RESULT.old";
  const Output out = runAutoccl({"run", "-q", "--engine", "cpu", "--no-profile", "--json",
                                 folder / "out.json", "--", "sh", "-c", script});
  ASSERT_EQ(out.status, 0) << out.err;
  const RunRecord joined = readRunRecord(*readWholeFile(folder / "out.json"), "out.json");
  EXPECT_EQ(joined.tasks.size(), 2 * tasks);
}

TEST(Job, LinesOfManyRanksComeOutWhole) {
  const Output out =
      runAutoccl({"run", "-n", "4", "-q", "--no-profile", "--prefix", "--", "sh", "-c",
                  "for i in $(seq 200); do printf 'a%s' $i; echo ' end'; done; printf last"});
  EXPECT_EQ(out.status, 0);
  std::istringstream lines(out.out);
  int whole = 0, last = 0;
  for (std::string line; std::getline(lines, line);) {
    whole += line.size() > 5 && line[0] == '[' && line.substr(line.size() - 4) == " end";
    last += line.substr(line.find(' ') + 1) == "last";
  }
  EXPECT_EQ(whole, 800);
  EXPECT_EQ(last, 4);
}

TEST(Run, SetsUpEveryRankAndLeavesNothingBehind) {
  const TestFolder folder;
  const Output out =
      runAutoccl({"run", "-n", "2", "--no-profile", "--budget", "5", "--deterministic", "--", "sh",
                  "-c", "stat -c %a $(dirname $AUTOCCL_RESULT); env | grep ^AUTOCCL | sort"},
                 {{"TMPDIR", folder / ""}, {"XDG_RUNTIME_DIR", ""}});
  EXPECT_EQ(out.status, 0) << out.err;
  for (const char* part :
       {"700\n", "AUTOCCL_TUNE=1", "AUTOCCL_RANK=0", "AUTOCCL_RANK=1", "AUTOCCL_NRANKS=2",
        "AUTOCCL_BUDGET=5", "AUTOCCL_DETERMINISTIC=1", "AUTOCCL_CORES="})
    EXPECT_NE(out.out.find(part), std::string::npos) << part << "\n" << out.out;
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

TEST(Run, PrintsWhatTheLeaderLearnedAndSavesIt) {
  const TestFolder folder;
  replaceFile(folder / "leader.json", leadersRecord(), Durable::kNo);
  const std::vector<std::string> call{
      "run",
      "-n",
      "2",
      "--profile",
      folder / "p.json",
      "--json",
      folder / "r.json",
      "--",
      "sh",
      "-c",
      "cp " + (folder / "leader.json") + " $AUTOCCL_RESULT; grep -c task $AUTOCCL_PROFILE"};
  const Output first = runAutoccl(call);
  EXPECT_NE(first.err.find("1.45x (1.41-1.49)"), std::string::npos) << first.err;
  EXPECT_NE(first.err.find("3 tasks saved in profile"), std::string::npos) << first.err;
  const RunRecord record = readRunRecord(readInput(folder / "r.json"), "r.json");
  EXPECT_EQ(record.state, "failed") << "grep found no profile yet";
  const Output second = runAutoccl(call);
  EXPECT_EQ(second.status, 0) << "the second run reads what the first learned: " << second.err;
  EXPECT_EQ(readRunRecord(readInput(folder / "r.json"), "r.json").state, "finished");
}

TEST(Run, ABrokenProfileIsNamedAndKept) {
  const TestFolder folder;
  replaceFile(folder / "p.json", "{\n\"schema\": 1", Durable::kNo);
  replaceFile(folder / "leader.json", leadersRecord(), Durable::kNo);
  const Output out =
      runAutoccl({"run", "-n", "1", "--profile", folder / "p.json", "--", "sh", "-c",
                  "echo [$AUTOCCL_PROFILE]; cp " + (folder / "leader.json") + " $AUTOCCL_RESULT"});
  EXPECT_EQ(out.status, 0);
  EXPECT_EQ(out.out, "[]\n");
  EXPECT_NE(out.err.find(folder / "p.json:2: "), std::string::npos) << out.err;
  EXPECT_EQ(readInput(folder / "p.json"), "{\n\"schema\": 1");
}

TEST(Run, NamesTheConfigThatWasInFlightWhenTheJobCrashed) {
  const TestFolder folder;
  const std::string script =
      "[ $AUTOCCL_RANK = 1 ] && exit 0; printf 'autoccl-journal 1\\ntrying 00000000000000ff "
      "ring/simple/shm nc=4 nt=1 c=64K wait=spin\\nend\\n' > $AUTOCCL_JOURNAL.comm0; kill -ABRT $$";
  const Output out =
      runAutoccl({"run", "-n", "2", "--profile", folder / "p.json", "--", "sh", "-c", script});
  EXPECT_EQ(out.status, 128 + SIGABRT);
  EXPECT_NE(out.err.find("quarantined: ring/simple/shm nc=4 nt=1 c=64K wait=spin"),
            std::string::npos)
      << out.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "p.json.journal.comm0"));
}

TEST(Run, UnderALauncherOnlySettingsAreSetAndOnlyRankZeroTells) {
  for (const char* rank : {"0", "1"}) {
    const Output out = runAutoccl({"run", "--no-profile", "--", "sh", "-c", "env | grep ^AUTOCCL"},
                                  {{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", "2"}});
    EXPECT_EQ(out.status, 0);
    EXPECT_NE(out.out.find("AUTOCCL_TUNE=1"), std::string::npos);
    EXPECT_EQ(out.out.find("AUTOCCL_RANK"), std::string::npos);
    EXPECT_EQ(out.err.empty(), *rank == '1') << out.err;
  }
}

TEST(Launch, MpichsRanksGetTheNameOfTheirCommonParent) {
  const LaunchedRank rank{"MPICH", 1, 2};
  const Variables expected{
      {"AUTOCCL_RANK", "1"}, {"AUTOCCL_NRANKS", "2"}, {"AUTOCCL_ID", "mpich-77"}};
  EXPECT_EQ(variablesUnder(rank, 77, lookupIn({})), expected);
  EXPECT_EQ(variablesUnder(rank, 77, lookupIn({{"MPI_LOCALNRANKS", "2"}})), expected);
  EXPECT_TRUE(variablesUnder(rank, 77, lookupIn({{"MPI_LOCALNRANKS", "1"}})).empty());
  EXPECT_TRUE(variablesUnder({"Open MPI", 1, 2}, 77, lookupIn({})).empty());
}

TEST(Run, BadInputIsNamedWithWhatIsAllowed) {
  for (const auto& [words, variable, parts] :
       std::vector<std::tuple<std::vector<std::string>, std::pair<std::string, std::string>,
                              std::vector<std::string>>>{
           {{"run", "-n", "0", "--", "true"}, {}, {"--ranks", "1 to 4096"}},
           {{"run", "-n", "two", "--", "true"}, {}, {"--ranks"}},
           {{"run", "--policy", "best", "--", "true"}, {}, {"--policy", "subspacerace"}},
           {{"run", "--budget", "200", "--", "true"}, {}, {"--budget", "0..100 %"}},
           {{"run", "--config", "ring/foo/shm", "--", "true"}, {}, {"--config", "ll128"}},
           {{"run", "--engine", "gpu", "--", "true"}, {}, {"--engine", "cpu"}},
           {{"run"}, {}, {"CMD"}},
           {{"rum"}, {}, {"'rum'", "run, "}},
           {{}, {}, {"run, "}},
           {{"run", "--", "true"}, {"AUTOCCL_BUGDET", "1"}, {"AUTOCCL_BUGDET", "AUTOCCL_BUDGET"}},
           {{"run", "--", "true"}, {"AUTOCCL_BUDGET", "x"}, {"AUTOCCL_BUDGET", "0..100 %"}}}) {
    const Output out =
        runAutoccl(words, variable.first.empty() ? Variables{} : Variables{variable});
    EXPECT_EQ(out.status, 2);
    for (const std::string& part : parts)
      EXPECT_NE(out.err.find(part), std::string::npos) << part << " not in: " << out.err;
  }
}

TEST(Run, ASignalReachesTheRanksAndEndsTheJob) {
  const TestFolder folder;
  const pid_t pid = fork();
  if (pid == 0) {
    execl(AUTOCCL_COMMAND, "autoccl", "run", "-n", "2", "-q", "--no-profile", "--", "sh", "-c",
          ("trap 'echo bye > " + (folder / "$AUTOCCL_RANK") + "; exit 0' TERM; touch " +
           (folder / "up$AUTOCCL_RANK") + "; while :; do sleep 0.05; done")
              .c_str(),
          nullptr);
    _exit(127);
  }
  while (!std::filesystem::exists(folder / "up0") || !std::filesystem::exists(folder / "up1"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(pid, SIGTERM);
  int how = 0;
  waitpid(pid, &how, 0);
  EXPECT_TRUE(WIFEXITED(how));
  EXPECT_EQ(WEXITSTATUS(how), 128 + SIGTERM);
  EXPECT_EQ(readInput(folder / "0"), "bye\n");
  EXPECT_EQ(readInput(folder / "1"), "bye\n");
}

}  // namespace
}  // namespace autoccl::cli
