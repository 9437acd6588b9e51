#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "store/file.h"
#include "store/json.h"
#include "store/machine.h"
#include "store/profile.h"
#include "store/run_record.h"
#include "store/testing/sample_record.h"

namespace autoccl {
namespace {

/// A folder that is gone at the end of the test.
class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "storeXXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Profile sampleProfile() {
  Profile profile{sampleRecord().machine, sampleRecord().machineText, {}};
  (void)learn(profile, sampleRecord());
  return profile;
}

template <class Read>
std::string refusal(const Read& read, const std::string& text) {
  try {
    (void)read(text, "f.json");
  } catch (const Error& e) {
    return e.code() == ErrorCode::kInput ? e.what() : "";
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(RunRecord, WhatIsWrittenIsReadBack) {
  const std::string text = writeRunRecord(sampleRecord());
  const RunRecord back = readRunRecord(text, "f.json");
  EXPECT_EQ(writeRunRecord(back), text);
  EXPECT_EQ(back.tasks[1].config, sampleRecord().tasks[1].config);
  EXPECT_EQ(back.tasks[1].history.size(), 5u);
  EXPECT_EQ(back.steps.size(), 300u);
}

TEST(RunRecord, HasTheMembersThatScriptsRelyOn) {
  const Json root = parseJson(writeRunRecord(sampleRecord()), "f.json");
  for (const char* key : {"tasks", "tuning_cost", "net_gain", "break_even_step", "converged_at"})
    EXPECT_NE(root.find(key), nullptr) << key;
  for (const char* key : {"call", "step", "seconds"})
    EXPECT_NE(root.find("converged_at")->find(key), nullptr) << key;
  for (const char* key : {"default_ms", "tuned_ms"})
    EXPECT_NE(root.find("steps")->find(key), nullptr) << key;
  for (const char* key : {"task", "calls", "default_us", "tuned_us", "gain", "gain_low",
                          "gain_high", "config", "state"})
    EXPECT_NE(root.find("tasks")->items()[0].find(key), nullptr) << key;
}

TEST(RunRecord, NoPrefixOfARecordIsARecord) {
  const std::string text = writeRunRecord(sampleRecord());
  const std::string body = text.substr(0, text.size() - 2);  // without the last brace and newline
  for (size_t n = 0; n <= body.size(); n += 97)
    EXPECT_NE(refusal(readRunRecord, body.substr(0, n)), "") << n;
}

TEST(RunRecord, AHandBrokenRecordIsRefusedByLine) {
  const std::string text = writeRunRecord(sampleRecord());
  for (const auto& [from, to, reason] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"autoccl-run/1", "autoccl-run/9", "allowed: autoccl-run/1"},
           {"\"state\": \"finished\"", "\"state\": \"done\"", "allowed: running|finished|failed"},
           {"\"ranks\": 2", "\"ranks\": 0", "allowed: 1 to 65536"},
           {"\"bytes\": 65536", "\"bytes\": 65537", "contradicts"},
           {"\"collective\": \"allreduce\"", "\"collective\": \"reduceall\"", "reduceall"},
           {"twoshot/zero/shm nc=2", "twoshot/zero/shm nc=0", "nc"},
           {"\"wall_seconds\"", "\"wall_second\"", "\"wall_seconds\" is missing"},
           {"\"wall_seconds\": 12.5", "\"wall_seconds\": -1", "allowed: 0"},
           {"\"notes\"", "\"more\": 1, \"notes\"", "not known"}}) {
    const std::string said = refusal(readRunRecord, replaced(text, from, to));
    EXPECT_EQ(said.rfind("f.json:", 0), 0u) << from << ": " << said;
    EXPECT_NE(said.find(reason), std::string::npos) << from << ": " << said;
  }
}

TEST(Profile, WhatIsWrittenIsReadBackAndFound) {
  const Profile back = readProfile(writeProfile(sampleProfile()), "f.json");
  EXPECT_EQ(writeProfile(back), writeProfile(sampleProfile()));
  Task task = sampleTask(1 << 20);
  task.communicator = 77;
  ASSERT_NE(back.find(task), nullptr);
  EXPECT_EQ(back.find(task)->config, sampleRecord().tasks[1].config);
  task.nRanks = 3;
  EXPECT_EQ(back.find(task), nullptr);
}

TEST(Profile, LearningTwiceChangesNothingMore) {
  Profile profile = sampleProfile();
  const std::string once = writeProfile(profile);
  EXPECT_EQ(learn(profile, sampleRecord()), 3);
  EXPECT_EQ(writeProfile(profile), once);
}

TEST(Profile, LearnsOnlyConvergedTasksOfItsOwnMachine) {
  Profile profile{sampleRecord().machine, "", {}};
  RunRecord record = sampleRecord();
  record.tasks[0].state = "searching";
  EXPECT_EQ(learn(profile, record), 2);
  record.machine = "cpu-64c-0";
  EXPECT_THROW((void)learn(profile, record), Error);
}

TEST(Profile, ABrokenForeignOrMissingFileIsAMissAndTheFirstTwoAreNamed) {
  const Folder folder;
  const std::string path = folder / "p.json", whole = writeProfile(sampleProfile());
  EXPECT_EQ(loadProfile(path, "cpu-2c-0123456789abcdef", "").note, "");
  const std::string twice = replaced(replaced(whole, "\"bytes\": 65536", "\"bytes\": 1048576"),
                                     "allreduce 64K", "allreduce 1M");
  for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string("{}"), twice,
                                  replaced(whole, "\"gain_low\": 1.", "\"gain_low\": 9.")}) {
    replaceFile(path, text, Durable::kNo);
    const LoadedProfile loaded = loadProfile(path, "cpu-2c-0123456789abcdef", "");
    EXPECT_TRUE(loaded.profile.entries.empty());
    EXPECT_NE(loaded.note.find(path + ":"), std::string::npos) << loaded.note;
  }
  saveProfile(sampleProfile(), path);
  EXPECT_EQ(loadProfile(path, "cpu-2c-0123456789abcdef", "").profile.entries.size(), 3u);
  const LoadedProfile foreign = loadProfile(path, "cpu-8c-ffff", "other");
  EXPECT_TRUE(foreign.profile.entries.empty());
  EXPECT_EQ(foreign.profile.machine, "cpu-8c-ffff");
  EXPECT_NE(foreign.note.find("another machine"), std::string::npos);
}

TEST(Profile, ItsPlaceFollowsTheEnvironment) {
  setenv("XDG_STATE_HOME", "/s", 1);
  EXPECT_EQ(profilePathFor("m"), "/s/autoccl/m.json");
  setenv("XDG_STATE_HOME", "relative", 1);
  setenv("HOME", "/h", 1);
  EXPECT_EQ(profilePathFor("m"), "/h/.local/state/autoccl/m.json");
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(profilePathFor("m"), "");
}

TEST(File, AReplacedFileIsPrivateAndLeavesNothingBeside) {
  const Folder folder;
  replaceFile(folder / "a", "one", Durable::kYes);
  replaceFile(folder / "a", "two", Durable::kNo);
  EXPECT_EQ(readWholeFile(folder / "a"), "two");
  struct stat status {};
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
}

TEST(File, WhatCannotBeReadOrWrittenIsNamed) {
  const Folder folder;
  EXPECT_EQ(readWholeFile(folder / "none"), std::nullopt);
  EXPECT_THROW((void)readWholeFile(folder / ""), Error);
  EXPECT_THROW(replaceFile(folder / "no/such", "x", Durable::kNo), Error);
  replaceFile(folder / "big", std::string(2000, 'x'), Durable::kNo);
  EXPECT_THROW((void)readWholeFile(folder / "big", 1000), Error);
  makeFolders(folder / "a/b/c");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  EXPECT_THROW(makeFolders(folder / "big/x"), Error);
}

TEST(Machine, IsReadFromTheFilesOfItsRoot) {
  const Folder folder;
  const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index";
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"/proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU 9\n"},
           {"/proc/meminfo", "MemTotal:       16384000 kB\n"},
           {"/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"},
           {cache + "0/type", "Data\n"},
           {cache + "0/size", "48K\n"},
           {cache + "0/level", "1\n"},
           {cache + "1/type", "Instruction\n"},
           {cache + "1/size", "32K\n"},
           {cache + "1/level", "1\n"},
           {cache + "2/type", "Unified\n"},
           {cache + "2/size", "2M\n"},
           {cache + "2/level", "2\n"},
           {"/proc/driver/nvidia/gpus/0000:19:00.0/information",
            "Model: \t\t NVIDIA H200\nIRQ: 1\n"},
           {"/proc/driver/nvidia/gpus/0000:3b:00.0/information",
            "Model: \t\t NVIDIA H200\nIRQ: 2\n"}}) {
    const std::string path = folder / name;
    makeFolders(path.substr(0, path.rfind('/')));
    std::ofstream(path) << text;
  }
  setenv("AUTOCCL_CORES", "12", 1);
  const Machine m = readMachine(folder / "");
  unsetenv("AUTOCCL_CORES");
  EXPECT_EQ(m.cpuModel, "Fast CPU 9");
  EXPECT_EQ(m.cores, 12);
  EXPECT_EQ(m.l1, 48u << 10);
  EXPECT_EQ(m.l2, 2u << 20);
  EXPECT_EQ(m.l3, 0u);
  EXPECT_EQ(m.memory, uint64_t{16384000} << 10);
  EXPECT_EQ(toText(m),
            "Fast CPU 9, 12 cores, L2 2M, 16 GiB, 2 x NVIDIA H200, Linux 6.1.0-18-amd64");
}

TEST(Machine, AFingerprintMovesWithWhatMattersAndWithNothingElse) {
  const Machine base{"CPU", 4, 1, 2, 3, uint64_t{16} << 30, "6.1.0-18"};
  Machine same = base;
  same.kernel = "6.1.0-22";
  same.memory += 1 << 20;
  EXPECT_EQ(fingerprintOf(base), fingerprintOf(same));
  for (const auto& change : std::vector<void (*)(Machine&)>{
           [](Machine& m) { m.cpuModel = "CPU2"; }, [](Machine& m) { m.cores = 5; },
           [](Machine& m) { m.l2 = 9; }, [](Machine& m) { m.memory *= 2; },
           [](Machine& m) { m.kernel = "6.12.0"; }, [](Machine& m) { m.gpus = 1; }}) {
    Machine other = base;
    change(other);
    EXPECT_NE(fingerprintOf(base), fingerprintOf(other));
  }
}

}  // namespace
}  // namespace autoccl
