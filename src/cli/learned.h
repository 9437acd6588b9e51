// Files of what was learned, as the commands take them: a run record or a profile.
#pragma once

#include <optional>
#include <string>

#include "store/profile.h"
#include "store/run_record.h"

namespace autoccl::cli {

/// One of the two.
struct Learned {
  std::string path;
  std::optional<RunRecord> record;
  std::optional<Profile> profile;
};

/// Reads `path`, by its schema a record or a profile; an empty path is this machine's own profile.
/// Throws Error naming file and line.
[[nodiscard]] Learned readLearned(const std::string& path);

/// The same where only that kind will do; the error says which command writes it.
[[nodiscard]] RunRecord readRecordFile(const std::string& path);
[[nodiscard]] Profile readProfileFile(const std::string& path);

/// `path`, or where it is empty the profile that `autoccl run` keeps for this machine.
[[nodiscard]] std::string profilePathOr(const std::string& path);

}  // namespace autoccl::cli
