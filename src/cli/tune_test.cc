#include <gtest/gtest.h>

#include "cli/output.h"
#include "cli/space_probe.h"
#include "cli/testing/command.h"
#include "store/json.h"
#include "store/run_record.h"

namespace autoccl::cli {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(SpaceCounts, GroupConfigsBySubspaceAndThinEachGrid) {
  std::vector<std::string> lines;
  for (const char* c : {"16K", "32K", "64K"})
    lines.push_back(std::string("ring/simple/shm nc=1 nt=1 c=") + c + " wait=spin");
  lines.emplace_back("ring/simple/shm nc=1 nt=1 c=64K wait=futex");
  const auto counts = countSubspaces(lines);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].name, "ring/simple/shm wait=spin");
  EXPECT_EQ(counts[0].full, 3u);
  EXPECT_EQ(counts[0].thinned, 2u);
  EXPECT_EQ(counts[1].full, 1u);
}

TEST(SpaceCounts, TellWhatAnExhaustiveSearchWouldTake) {
  const std::string text = spaceText({Task{}, {{"a", 300, 100}, {"b", 200, 50}}, 1000});
  EXPECT_TRUE(has(text, "all 2")) << text;
  EXPECT_TRUE(has(text, "exhaustive   1.0 s at 2 calls a config")) << text;
  EXPECT_TRUE(has(text, "thinned 300.0 ms")) << text;
}

TEST(TuneCommand, ADryRunAsksTheEngineForEveryTask) {
  const Output out = runAutoccl({"tune", "--dry-run", "--collective", "allreduce,broadcast",
                                 "--sizes", "16K,64K", "--json", "-"});
  ASSERT_EQ(out.status, 0) << out.err;
  const Json root = parseJson(out.out, "stdout");
  ASSERT_EQ(root.find("tasks")->items().size(), 4u);
  for (const Json& task : root.find("tasks")->items()) {
    EXPECT_GT(task.find("configs")->number(), task.find("thinned")->number());
    EXPECT_GT(task.find("exhaustive_ms")->number(), 0);
  }
}

TEST(TuneCommand, ASweepRunsUnderTheTunerAndSavesWhatConverged) {
  const TestFolder folder;
  const Output out = runAutoccl({"tune", "-n", "2", "--sizes", "64K", "--max-seconds", "4",
                                 "--profile", folder / "p.json", "--json", folder / "r.json"});
  ASSERT_EQ(out.status, 0) << out.err;
  const RunRecord record = readRunRecord(readInput(folder / "r.json"), "r.json");
  EXPECT_EQ(record.state, "finished");
  ASSERT_EQ(record.tasks.size(), 1u) << out.out;
  EXPECT_GT(record.tasks[0].calls, 0u);
  EXPECT_FALSE(record.tasks[0].history.empty());
  const bool converged = record.tasks[0].state == "converged";
  EXPECT_EQ(has(out.out, "saved in profile " + (folder / "p.json")), converged) << out.out;
}

TEST(TuneCommand, BadInputIsNamedWithWhatIsAllowed) {
  for (const auto& [words, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"tune", "--collective", "allsum"}, "allowed: allreduce, allgather"},
           {{"tune", "--collective", "barrier"}, "--collective: 'barrier'"},
           {{"tune", "--sizes", "64X"}, "--sizes"},
           {{"tune", "-n", "1"}, "--ranks"},
           {{"tune", "--buffers", "gpu"}, "--buffers"},
           {{"tune", "--policy", "best"}, "--policy"}}) {
    const Output out = runAutoccl(words);
    EXPECT_EQ(out.status, 2) << out.err;
    EXPECT_TRUE(has(out.err, part)) << part << " not in: " << out.err;
  }
}

}  // namespace
}  // namespace autoccl::cli
