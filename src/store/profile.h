// What was learned, on disk: one file for one machine (schema "autoccl-profile/1").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/task.h"
#include "store/run_record.h"

namespace autoccl {

/// How one task's choice was made. Times are microseconds; gain is default/tuned.
struct ProfileEntry {
  Task task;  // communicator 0: a profile speaks of like communicators
  Config defaultConfig, config;
  double defaultUs = 0, tunedUs = 0;
  double defaultSe = 0, tunedSe = 0;
  int samples = 0;
  double gain = 1, gainLow = 1, gainHigh = 1;
  std::string decidedBy;
  std::string library;  // version that measured
  std::string date;     // ISO 8601
};

/// All entries of one machine; no task stands twice.
struct Profile {
  std::string machine;      // fingerprint
  std::string machineText;  // for people
  std::vector<ProfileEntry> entries;

  /// The entry of that task, whatever its communicator; nullptr: a miss.
  [[nodiscard]] const ProfileEntry* find(const Task& task) const;
};

/// Text of a profile and back. readProfile throws Error with file:line: reason for anything that
/// is not a whole profile; nothing is loaded then.
[[nodiscard]] std::string writeProfile(const Profile& profile);
[[nodiscard]] Profile readProfile(const std::string& text, const std::string& fileName);

/// The profile in `path` for the machine `fingerprint`. A file that is missing, broken or another
/// machine's gives an empty profile of this machine; `note` then says why (nothing for a missing
/// file). Never throws for what the file holds.
struct LoadedProfile {
  Profile profile;
  std::string note;
};
[[nodiscard]] LoadedProfile loadProfile(const std::string& path, const std::string& fingerprint,
                                        const std::string& machineText);

/// Atomic and durable; mode 0600.
void saveProfile(const Profile& profile, const std::string& path);

/// Takes over every converged task of a run: its entry replaces the one there was. Idempotent.
/// Returns how many entries came in. A record of another machine is refused with Error.
int learn(Profile& profile, const RunRecord& record);

/// $XDG_STATE_HOME/autoccl/<fingerprint>.json, by default below ~/.local/state; empty where
/// neither variable is set.
[[nodiscard]] std::string profilePathFor(const std::string& fingerprint);

}  // namespace autoccl
