#include "cli/nccl_job.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "cli/testing/command.h"
#include "store/file.h"

namespace autoccl::cli {
namespace {

Lookup lookupIn(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    for (const auto& [key, value] : variables)
      if (key == name) return value;
    return std::nullopt;
  };
}

std::string valueOf(const Variables& variables, const std::string& name) {
  const auto at = std::find_if(variables.begin(), variables.end(),
                               [&](const auto& v) { return v.first == name; });
  return at == variables.end() ? "(none)" : at->second;
}

std::string program(const TestFolder& folder, const std::string& content) {
  std::string path = folder / "program";
  std::ofstream(path) << content;
  chmod(path.c_str(), 0755);
  return path;
}

TEST(NcclGuess, AProgramThatNamesNcclIsPreloaded) {
  const TestFolder folder;
  EXPECT_TRUE(guessNccl({program(folder, "ELF libnccl.so.2")}, false).preload);
  EXPECT_TRUE(
      guessNccl({program(folder, std::string(1 << 20, 'x') + "librccl.so.1")}, false).preload);
}

TEST(NcclGuess, AWordAcrossTwoBlocksOfTheFileIsFound) {
  const TestFolder folder;
  for (const size_t before : {(1 << 20) - 1, (1 << 20) - 5, (1 << 20) - 9})
    EXPECT_TRUE(
        guessNccl({program(folder, std::string(before, 'x') + "libnccl.so.2")}, false).preload)
        << before;
}

TEST(NcclGuess, ALauncherIsPreloadedWhereThereIsAGpu) {
  EXPECT_TRUE(guessNccl({"sh", "-c", "true"}, true).preload);
  const NcclGuess without = guessNccl({"sh", "-c", "true"}, false);
  EXPECT_FALSE(without.preload);
  EXPECT_EQ(without.reason, "sh does not name libnccl, and this host has no GPU");
}

TEST(NcclGuess, ASanitizedProgramIsLeftAlone) {
  const TestFolder folder;
  EXPECT_FALSE(guessNccl({program(folder, "libasan.so.8 libnccl.so.2")}, true).preload);
}

TEST(NcclLibrary, AFileThatOthersMayWriteIsRefused) {
  const TestFolder folder;
  const std::string path = program(folder, "");
  EXPECT_NO_THROW(requirePreloadable(path));
  chmod(path.c_str(), 0775);
  EXPECT_THROW(requirePreloadable(path), Error);
  EXPECT_THROW(requirePreloadable(folder / "missing"), Error);
  const std::string spaced = folder / "a b";
  std::ofstream(spaced) << "";
  chmod(spaced.c_str(), 0644);
  EXPECT_THROW(requirePreloadable(spaced), Error);
}

TEST(NcclVariables, OurLibraryComesBeforeTheUsersOwn) {
  const TestFolder folder;
  const auto alone = ncclVariables("/l.so", folder / "", lookupIn({}));
  EXPECT_EQ(valueOf(alone, "LD_PRELOAD"), "/l.so");
  const auto both = ncclVariables("/l.so", folder / "", lookupIn({{"LD_PRELOAD", "/u.so /v.so"}}));
  EXPECT_EQ(valueOf(both, "LD_PRELOAD"), "/l.so:/u.so /v.so");
}

TEST(NcclVariables, TheKeyIsSecretAndNew) {
  const TestFolder folder, other;
  const auto v = ncclVariables("/l.so", folder / "", lookupIn({}));
  const auto w = ncclVariables("/l.so", other / "", lookupIn({}));
  struct stat info {};
  ASSERT_EQ(stat(valueOf(v, "AUTOCCL_KEY_FILE").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(readWholeFile(valueOf(v, "AUTOCCL_KEY_FILE")),
            readWholeFile(valueOf(w, "AUTOCCL_KEY_FILE")));
  const std::string place = valueOf(v, "AUTOCCL_COORDINATOR");
  ASSERT_EQ(place.rfind("127.0.0.1:", 0), 0u) << place;
  const int port = std::stoi(place.substr(10));
  EXPECT_GE(port, 20000);
  EXPECT_LE(port + 64, 32768) << "below the kernel's own";
}

TEST(NcclVariables, TheUsersCoordinatorIsKept) {
  const TestFolder folder;
  const auto v =
      ncclVariables("/l.so", folder / "", lookupIn({{"AUTOCCL_COORDINATOR", "n1:9000"}}));
  EXPECT_EQ(valueOf(v, "AUTOCCL_COORDINATOR"), "(none)");
  EXPECT_EQ(valueOf(v, "AUTOCCL_KEY_FILE"), "(none)");
}

TEST(NcclWarnings, NameWhatIsDangerousAndNothingElse) {
  EXPECT_TRUE(ncclWarnings(lookupIn({{"NCCL_ALGO", "ring"}})).empty());
  EXPECT_TRUE(ncclWarnings(lookupIn({{"NCCL_P2P_USE_CUDA_MEMCPY", "0"}})).empty());
  const auto copy = ncclWarnings(lookupIn({{"NCCL_P2P_USE_CUDA_MEMCPY", "1"}}));
  ASSERT_EQ(copy.size(), 1u);
  EXPECT_NE(copy[0].find("deadlock"), std::string::npos);
  EXPECT_EQ(ncclWarnings(lookupIn({{"NCCL_TUNER_PLUGIN", "/x/other.so"}})).size(), 1u);
  EXPECT_TRUE(ncclWarnings(lookupIn({{"NCCL_TUNER_PLUGIN", kNcclLibrary}})).empty());
}

}  // namespace
}  // namespace autoccl::cli
