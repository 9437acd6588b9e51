#include "edge/session/leader_files.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "store/file.h"
#include "store/flight_recorder.h"
#include "store/machine.h"
#include "store/profile.h"
#include "tune/journal.h"

namespace autoccl {
namespace {

TunerOptions tunerOptions() {
  TunerOptions t;
  t.policy = settingText("AUTOCCL_POLICY");
  t.objective = settingText("AUTOCCL_OBJECTIVE");
  t.budgetShare = settingNumber("AUTOCCL_BUDGET") / 100;
  t.smPriceUs = settingNumber("AUTOCCL_SM_PRICE");
  t.search.seed = static_cast<uint64_t>(settingNumber("AUTOCCL_SEED"));
  t.search.deterministic = settingSwitch("AUTOCCL_DETERMINISTIC");
  return t;
}

/// Writes the journal; a disk that refuses costs the protection, not the run.
std::function<void(const std::string&)> journalWriter(const std::string& path) {
  if (path.empty()) return {};
  return [path, told = false](const std::string& text) mutable {
    try {
      replaceFile(path, text, Durable::kYes);
    } catch (const std::exception& error) {
      if (!std::exchange(told, true)) logLine(LogLevel::kWarn, error.what());
    }
  };
}

Journal readJournal(const std::string& path) {
  if (path.empty()) return {};
  try {
    if (const auto text = readWholeFile(path)) return parseJournal(*text, path);
  } catch (const Error& error) {
    logLine(LogLevel::kWarn, std::string(error.what()) + "; the journal is not used");
  }
  return {};
}

/// What a run that was killed while it wrote has left.
void removeHalfWritten(const std::string& path) {
  const std::filesystem::path journal(path);
  const std::string start = journal.filename().string() + ".new.";
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(journal.parent_path(), ignored))
    if (file.path().filename().string().rfind(start, 0) == 0)
      std::filesystem::remove(file.path(), ignored);
}

std::function<std::optional<Config>(const Task&)> profileSource() {
  const std::string path = settingText("AUTOCCL_PROFILE");
  if (path.empty()) return {};
  const Machine machine = readMachine();
  const LoadedProfile loaded = loadProfile(path, fingerprintOf(machine), toText(machine));
  if (!loaded.note.empty()) logLine(LogLevel::kWarn, loaded.note);
  return [profile = std::make_shared<Profile>(loaded.profile)](const Task& task) {
    const ProfileEntry* entry = profile->find(task);
    return entry ? std::optional<Config>(entry->config) : std::nullopt;
  };
}

}  // namespace

std::string journalPath(const std::string& communicator) {
  std::string path = settingText("AUTOCCL_JOURNAL");
  if (path.empty()) return path;
  std::string name = communicator;
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_'; }, '_');
  return path + "." + name;
}

Leader::Options leaderOptions(const TuningSession::Seat& seat) {
  Leader::Options options;
  options.tuner = tunerOptions();
  options.communicatorName = seat.name;
  options.nRanks = seat.nRanks;
  options.joinRule = seat.joinRule;
  options.measuring = seat.measuring;
  options.engine = seat.engine;
  options.describeDefault = seat.describeDefault;
  options.known = profileSource();
  const std::string path = journalPath(seat.journalName());
  if (path.empty()) return options;
  removeHalfWritten(path);
  const Journal journal = readJournal(path);
  const auto lastRun = FlightRecorder::read(flightPath(path));
  auto barred = suspects(journal, lastRun ? &*lastRun : nullptr);
  barred.insert(barred.end(), journal.quarantined.begin(), journal.quarantined.end());
  for (const Journal::Entry& entry : barred)
    options.quarantined.emplace_back(entry.taskKey, entry.config);
  FlightRecorder::create(flightPath(path), seat.nRanks);
  options.tuner.journal = journalWriter(path);
  return options;
}

std::string flightPath(const std::string& journal) {
  return journal + ".flight";
}

void closeJournal(const std::string& communicator) noexcept {
  try {
    const std::string path = journalPath(communicator);
    if (path.empty()) return;
    Journal journal = readJournal(path);
    journal.inFlight.clear();
    replaceFile(path, formatJournal(journal), Durable::kYes);
    unlink(flightPath(path).c_str());
  } catch (const std::exception& error) {
    logLine(LogLevel::kWarn, error.what());
  }
}

}  // namespace autoccl
