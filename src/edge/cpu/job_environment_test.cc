#include "edge/cpu/job_environment.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace autoccl {
namespace {

std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> all;
  return all;
}

JobPlace placeWith(std::map<std::string, std::string> set) {
  variables() = std::move(set);
  return jobPlace([](const char* name) -> const char* {
    const auto found = variables().find(name);
    return found == variables().end() ? nullptr : found->second.c_str();
  });
}

TEST(JobEnvironment, UnderstandsEveryLauncher) {
  struct Case {
    const char* launcher;
    std::map<std::string, std::string> set;
  };
  const Case cases[] = {
      {"autoccl run", {{"AUTOCCL_RANK", "1"}, {"AUTOCCL_NRANKS", "3"}, {"AUTOCCL_ID", "j"}}},
      {"torchrun",
       {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"LOCAL_WORLD_SIZE", "3"}, {"MASTER_PORT", "29500"}}},
      {"Open MPI",
       {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"PMIX_NAMESPACE", "77"}}},
      {"MPICH", {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}},
      {"Slurm", {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_JOB_ID", "5"}}},
  };
  for (const Case& c : cases) {
    const JobPlace place = placeWith(c.set);
    EXPECT_EQ(place.launcher, c.launcher);
    EXPECT_EQ(place.rank, 1);
    EXPECT_EQ(place.nRanks, 3);
    auto other = c.set;
    for (auto& [name, value] : other)
      if (name.find("RANK") != std::string::npos && value == "1") value = "2";
    if (other.count("SLURM_PROCID")) other["SLURM_PROCID"] = "2";
    EXPECT_EQ(idOf(placeWith(other), 0), idOf(place, 0)) << c.launcher;
    EXPECT_FALSE(idOf(place, 0) == idOf(place, 1));
  }
}

TEST(JobEnvironment, TwoJobsDoNotMeet) {
  const auto id = [](const char* name) {
    return idOf(placeWith({{"AUTOCCL_RANK", "0"}, {"AUTOCCL_NRANKS", "2"}, {"AUTOCCL_ID", name}}),
                0);
  };
  EXPECT_FALSE(id("one") == id("two"));
}

TEST(JobEnvironment, NamesWhatIsWrong) {
  const auto said = [](std::map<std::string, std::string> set) {
    try {
      (void)placeWith(std::move(set));
      return std::string();
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  EXPECT_NE(said({}).find("autoccl run"), std::string::npos);
  EXPECT_NE(said({{"RANK", "x"}, {"WORLD_SIZE", "2"}}).find("RANK='x'"), std::string::npos);
  EXPECT_NE(said({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).find("RANK=2"), std::string::npos);
  EXPECT_NE(
      said({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}}).find("several hosts"),
      std::string::npos);
}

}  // namespace
}  // namespace autoccl
