#include "cli/learned.h"

#include "base/error.h"
#include "base/settings.h"
#include "cli/output.h"
#include "store/json.h"
#include "store/machine.h"

namespace autoccl::cli {

std::string profilePathOr(const std::string& path) {
  if (!path.empty()) return path;
  if (std::string set = settingText("AUTOCCL_PROFILE"); !set.empty()) return set;
  std::string own = profilePathFor(fingerprintOf(readMachine()));
  if (own.empty())
    throw Error(ErrorCode::kUsage, "FILE: neither HOME nor XDG_STATE_HOME is set",
                "name a profile");
  return own;
}

Learned readLearned(const std::string& given) {
  Learned learned{profilePathOr(given), {}, {}};
  const std::string text = readInput(learned.path);
  const Json root = parseJson(text, learned.path);
  const Json* schema = root.find("schema");
  const std::string name = schema ? schema->text() : "";
  if (name.starts_with("autoccl-run/"))
    learned.record = readRunRecord(text, learned.path);
  else if (name.starts_with("autoccl-profile/"))
    learned.profile = readProfile(text, learned.path);
  else
    failAt(learned.path, root.line(),
           "\"schema\" names neither a run record nor a profile of AutoCCL");
  return learned;
}

RunRecord readRecordFile(const std::string& path) {
  Learned learned = readLearned(path);
  if (!learned.record)
    throw Error(ErrorCode::kInput, learned.path + ": is a profile, not a run record",
                "autoccl run --json FILE writes one");
  return std::move(*learned.record);
}

Profile readProfileFile(const std::string& path) {
  Learned learned = readLearned(path);
  if (!learned.profile)
    throw Error(ErrorCode::kInput, learned.path + ": is a run record, not a profile",
                "autoccl run --profile FILE writes one");
  return std::move(*learned.profile);
}

}  // namespace autoccl::cli
