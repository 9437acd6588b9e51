#include "store/flight_recorder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "store/file.h"

namespace autoccl {
namespace {

class FlightRecorderTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("flight-" + std::to_string(getpid()))).string();
};

TEST_F(FlightRecorderTest, WhatAKilledProcessRanLastIsReadBack) {
  FlightRecorder::create(path_, 3);
  const Config config = parseConfig("ring/ll/shm nc=4 nt=2 c=16K wait=yield");
  const pid_t child = fork();
  if (child == 0) {
    FlightRecorder recorder;
    if (!recorder.open(path_, 2)) _exit(1);
    recorder.ran(parseConfig("tree/ll/shm nc=1 nt=1 c=16K"), 6);
    recorder.ran(config, 7);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto last = FlightRecorder::read(path_);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(*last, std::vector<Config>{config});
}

TEST_F(FlightRecorderTest, AFileThatIsNoRecordingGivesNothing) {
  EXPECT_FALSE(FlightRecorder::read(path_).has_value());
  for (const std::string& text :
       {std::string("short"), std::string(128, 'x'), std::string(100, '\0')}) {
    replaceFile(path_, text, Durable::kNo);
    EXPECT_FALSE(FlightRecorder::read(path_).has_value());
  }
  FlightRecorder recorder;
  EXPECT_FALSE(recorder.open(path_, 5));
  recorder.ran(Config{}, 1);
}

TEST_F(FlightRecorderTest, WordsOutOfRangeAreNotTakenForAConfig) {
  FlightRecorder::create(path_, 1);
  {
    FlightRecorder recorder;
    ASSERT_TRUE(recorder.open(path_, 0));
    recorder.ran(Config{}, 0);
  }
  const std::string whole = readWholeFile(path_).value();
  ASSERT_EQ(FlightRecorder::read(path_)->size(), 1u);
  for (const size_t byte : {0, 1, 2, 3}) {  // algorithm, protocol, transport, wait policy
    std::string text = whole;
    text[64 + byte] = 77;
    replaceFile(path_, text, Durable::kNo);
    EXPECT_TRUE(FlightRecorder::read(path_)->empty()) << "byte " << byte;
  }
}

}  // namespace
}  // namespace autoccl
