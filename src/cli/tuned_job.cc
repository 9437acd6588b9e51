#include "cli/tuned_job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/date.h"
#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "cli/nccl_job.h"
#include "cli/progress.h"
#include "cli/settings_command.h"
#include "store/file.h"
#include "store/flight_recorder.h"
#include "store/machine.h"
#include "store/profile.h"
#include "tune/journal.h"

namespace autoccl::cli {
namespace {

/// A private folder for one run, removed with all in it.
class RunFolder {
 public:
  RunFolder() {
    const char* base = std::getenv("XDG_RUNTIME_DIR");
    if (base == nullptr || access(base, W_OK) != 0) base = std::getenv("TMPDIR");
    if (base == nullptr || access(base, W_OK) != 0) base = "/tmp";
    path_ = std::string(base) + "/autoccl-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr)
      throw Error(ErrorCode::kSystem, path_ + ": cannot make the run directory",
                  "set TMPDIR to a folder that you may write to");
  }
  ~RunFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::optional<std::string> fromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

constexpr const char* kNoRecord =
    "nothing was tuned: no communicator of two or more ranks was made, or the leader runs on "
    "another host (then set AUTOCCL_RESULT to a shared file)";
constexpr const char* kNoRecordOfNccl =
    "nothing was tuned: no NCCL communicator of two or more ranks called a collective; "
    "AUTOCCL_LOG=info says what each process saw, and autoccl doctor what this NCCL allows";

class TunedJob {
 public:
  explicit TunedJob(const TunedJobOptions& options)
      : options_(options),
        machine_(readMachine()),
        fingerprint_(fingerprintOf(machine_)),
        launched_(options.nRanks > 0 ? std::nullopt : launchedRank(fromEnvironment)),
        progress_(!options.quiet && options.tune && leads()) {
    resultPath_ = fromEnvironment("AUTOCCL_RESULT").value_or(folder_ / "record.json");
    if (options.useProfile) openProfile();
    journalPath_ =
        fromEnvironment("AUTOCCL_JOURNAL")
            .value_or(profilePath_.empty() ? folder_ / "journal" : profilePath_ + ".journal");
    chooseEngine();
  }

  TunedJobResult run() {
    for (const std::string& old : recordFiles()) unlink(old.c_str());
    JobOptions job;
    job.timeoutSeconds = options_.timeoutSeconds;
    job.captured = options_.nRanks > 0;
    job.prefixed = options_.prefixed;
    job.tick = [this] { progress_.show(resultPath_); };
    job.beforeLines = [this] { progress_.clear(); };
    TunedJobResult result{runJob(ranks(), job), {}, leads()};
    progress_.clear();
    result.record = recordAfter(result.end);
    noteQuarantine(result);
    if (result.leads) learnFrom(result.record);
    result.record.notes.insert(result.record.notes.end(), notes_.begin(), notes_.end());
    return result;
  }

 private:
  [[nodiscard]] bool leads() const { return !launched_ || launched_->rank == 0; }

  void chooseEngine() {
    const NcclGuess guess = options_.engine == "auto" ? guessNccl(options_.words, hostHasGpu())
                                                      : NcclGuess{options_.engine == "nccl", ""};
    if (!guess.preload || !options_.tune) return;
    try {
      engineVariables_ = ncclVariables(ncclLibraryPath(), folder_ / "", fromEnvironment);
    } catch (const Error& error) {
      if (options_.engine == "nccl") throw;
      notes_.push_back("NCCL is not tuned, although " + guess.reason + ": " + error.what());
      return;
    }
    preloads_ = true;
    for (const std::string& warning : ncclWarnings(fromEnvironment))
      logLine(LogLevel::kWarn, warning);
  }

  void openProfile() {
    profilePath_ = options_.profile;
    if (profilePath_.empty()) profilePath_ = settingText("AUTOCCL_PROFILE");
    if (profilePath_.empty()) {
      profilePath_ = profilePathFor(fingerprint_);
      if (profilePath_.empty())
        notes_.push_back("no profile: neither HOME nor XDG_STATE_HOME is set; give --profile FILE");
      else
        makeFolders(profilePath_.substr(0, profilePath_.rfind('/')));
    }
    if (profilePath_.empty()) return;
    profilePath_ = std::filesystem::absolute(profilePath_);
    const LoadedProfile loaded = loadProfile(profilePath_, fingerprint_, toText(machine_));
    profileUsable_ = loaded.note.empty();
    if (!profileUsable_) notes_.push_back(loaded.note + "; it is not read and not written");
  }

  [[nodiscard]] Variables commonVariables() const {
    Variables v{{"AUTOCCL_TUNE", options_.tune ? "1" : "0"},
                {"AUTOCCL_RESULT", resultPath_},
                {"AUTOCCL_JOURNAL", journalPath_},
                {"AUTOCCL_CORES", std::to_string(std::max(1, machine_.cores))},
                {"AUTOCCL_PROFILE", profileUsable_ ? profilePath_ : ""}};
    v.insert(v.end(), engineVariables_.begin(), engineVariables_.end());
    v.insert(v.end(), options_.settings.begin(), options_.settings.end());
    return v;
  }

  [[nodiscard]] std::vector<RankCommand> ranks() const {
    Variables common = commonVariables();
    if (launched_)
      for (auto& variable : variablesUnder(*launched_, getppid(), fromEnvironment))
        common.push_back(std::move(variable));
    if (options_.nRanks == 0) return {{options_.words, common, {}}};
    const std::string id = newJobId();
    const std::vector<int> cores = allowedCores();
    std::vector<RankCommand> commands;
    for (int r = 0; r < options_.nRanks; ++r) {
      RankCommand rank{options_.words, common, {}};
      rank.variables.emplace_back("AUTOCCL_RANK", std::to_string(r));
      rank.variables.emplace_back("AUTOCCL_NRANKS", std::to_string(options_.nRanks));
      rank.variables.emplace_back("AUTOCCL_ID", id);
      if (options_.pin) rank.cores = coresOf(r, options_.nRanks, cores);
      commands.push_back(std::move(rank));
    }
    return commands;
  }

  /// Where leaders write: rank 0 of the job into the result file, others into "<file>.<rank>".
  [[nodiscard]] std::vector<std::string> recordFiles() const {
    const std::filesystem::path path = std::filesystem::absolute(resultPath_);
    const std::string stem = path.filename().string() + ".";
    std::vector<std::string> files;
    std::error_code none;
    if (std::filesystem::exists(path, none)) files.push_back(path);
    for (const auto& file : std::filesystem::directory_iterator(path.parent_path(), none)) {
      const std::string name = file.path().filename();
      if (name.starts_with(stem) && name.size() > stem.size() &&
          name.find_first_not_of("0123456789", stem.size()) == std::string::npos)
        files.push_back(file.path());
    }
    return files;
  }

  /// False where no leader has written.
  bool readRecords(RunRecord& whole) const {
    bool found = false;
    for (const std::string& file : recordFiles()) {
      RunRecord part = readRunRecord(readWholeFile(file).value_or(""), file);
      if (found)
        joinRecords(whole, part);
      else
        whole = std::move(part);
      found = true;
    }
    return found;
  }

  [[nodiscard]] RunRecord recordAfter(const JobEnd& end) {
    RunRecord record;
    try {
      if (!readRecords(record) && options_.tune && leads())
        notes_.emplace_back(preloads_ ? kNoRecordOfNccl : kNoRecord);
    } catch (const Error& error) {
      notes_.push_back(std::string("the run's record is unreadable: ") + error.what());
    }
    if (!options_.tune) notes_.emplace_back("tuning was off");
    if (record.machine.empty()) record.machine = fingerprint_;
    if (record.machineText.empty()) record.machineText = toText(machine_);
    if (record.date.empty()) record.date = isoDate();
    if (record.library.empty()) record.library = "autoccl " AUTOCCL_VERSION;
    record.command = options_.shown.empty() ? joined(options_.words) : options_.shown;
    record.state = end.status == 0 ? "finished" : "failed";
    if (!end.text().empty()) record.notes.push_back(end.text());
    return record;
  }

  /// A job that died with trials in flight: the next one will not try them again. Every
  /// communicator has a journal of its own, <journal>.<name>.
  void noteQuarantine(const TunedJobResult& result) {
    if (result.end.status == 0 || !result.leads) return;
    const std::filesystem::path stem = std::filesystem::absolute(journalPath_);
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(stem.parent_path(), none))
      if (file.path().filename().string().starts_with(stem.filename().string() + ".") &&
          file.path().extension() != ".flight" &&
          file.path().filename().string().find(".new.") == std::string::npos)
        noteSuspects(file.path());
  }

  /// The journal names a round of trials, the recording beside it what each rank ran last.
  void noteSuspects(const std::string& path) {
    try {
      const Journal journal = parseJournal(readWholeFile(path).value_or(""), path);
      const auto lastRun = FlightRecorder::read(path + ".flight");
      for (const Journal::Entry& e : suspects(journal, lastRun ? &*lastRun : nullptr))
        notes_.push_back("quarantined: " + toText(e.config) +
                         " was in flight when the job failed; the next run does not try it, nor "
                         "larger ones of its kind");
    } catch (const Error& error) {
      notes_.push_back(std::string("a journal is unreadable: ") + error.what());
    }
  }

  void learnFrom(const RunRecord& record) {
    if (profilePath_.empty() || !profileUsable_ || record.tasks.empty()) return;
    try {
      Profile profile = loadProfile(profilePath_, fingerprint_, toText(machine_)).profile;
      const int taken = learn(profile, record);
      if (taken == 0) return;
      saveProfile(profile, profilePath_);
      notes_.push_back(std::to_string(taken) + " tasks saved in profile " + profilePath_);
    } catch (const Error& error) {
      notes_.push_back(std::string("profile not saved: ") + error.what());
    }
  }

  const TunedJobOptions& options_;
  RunFolder folder_;
  Machine machine_;
  std::string fingerprint_;
  std::optional<LaunchedRank> launched_;
  Progress progress_;
  std::string resultPath_, journalPath_, profilePath_;
  Variables engineVariables_;
  bool preloads_ = false;  // our library for NCCL
  bool profileUsable_ = false;
  std::vector<std::string> notes_;
};

}  // namespace

TunedJobResult runTunedJob(const TunedJobOptions& options) {
  checkEnvironment();
  return TunedJob(options).run();
}

}  // namespace autoccl::cli
