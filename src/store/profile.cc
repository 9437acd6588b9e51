#include "store/profile.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "store/config_json.h"
#include "store/file.h"
#include "store/json.h"

namespace autoccl {
namespace {

constexpr const char* kSchema = "autoccl-profile/1";

bool sameTask(const Task& a, const Task& b) {
  Task likeA = a;
  likeA.communicator = b.communicator;
  return likeA == b;
}

Json writeEntry(const ProfileEntry& e) {
  Json object = Json::object();
  object.add("task", toText(e.task));
  writeTask(object, e.task);
  object.add("default_config", toText(e.defaultConfig)).add("config", toText(e.config));
  object.add("default_us", e.defaultUs).add("tuned_us", e.tunedUs);
  object.add("default_se", e.defaultSe).add("tuned_se", e.tunedSe).add("samples", e.samples);
  object.add("gain", e.gain).add("gain_low", e.gainLow).add("gain_high", e.gainHigh);
  object.add("decided_by", e.decidedBy).add("library", e.library).add("date", e.date);
  return object;
}

ProfileEntry readEntry(const Json& json, const std::string& file) {
  JsonFields f(json, "entry", file);
  ProfileEntry e;
  const std::string name = f.text("task");
  e.task = readTask(f);
  if (name != toText(e.task)) f.fail("task", "contradicts the members beside it");
  e.defaultConfig = readConfig(f, "default_config");
  e.config = readConfig(f, "config");
  e.defaultUs = f.number("default_us");
  e.tunedUs = f.number("tuned_us");
  e.defaultSe = f.number("default_se");
  e.tunedSe = f.number("tuned_se");
  e.samples = static_cast<int>(f.count("samples", INT32_MAX));
  e.gain = f.number("gain");
  e.gainLow = f.number("gain_low");
  e.gainHigh = f.number("gain_high");
  if (e.gainLow > e.gain || e.gain > e.gainHigh)
    f.fail("gain", "lies outside of gain_low to gain_high");
  e.decidedBy = f.text("decided_by");
  e.library = f.text("library");
  e.date = f.text("date");
  f.done();
  return e;
}

ProfileEntry entryOf(const TaskRecord& t, const RunRecord& record) {
  ProfileEntry e;
  e.task = t.task;
  e.task.communicator = 0;
  e.defaultConfig = t.defaultConfig;
  e.config = t.config;
  e.defaultUs = t.defaultUs;
  e.tunedUs = t.tunedUs;
  e.defaultSe = t.defaultSe;
  e.tunedSe = t.tunedSe;
  e.samples = t.confirmSamples;
  e.gain = t.gain;
  e.gainLow = std::min(t.gainLow, t.gain);
  e.gainHigh = std::max(t.gainHigh, t.gain);
  e.decidedBy = t.decidedBy;
  e.library = record.library;
  e.date = record.date;
  return e;
}

}  // namespace

const ProfileEntry* Profile::find(const Task& task) const {
  for (const ProfileEntry& e : entries)
    if (sameTask(e.task, task)) return &e;
  return nullptr;
}

std::string writeProfile(const Profile& profile) {
  Json root = Json::object();
  root.add("schema", kSchema).add("machine", profile.machine);
  root.add("machine_text", profile.machineText);
  Json entries = Json::list();
  for (const ProfileEntry& e : profile.entries) entries.add(writeEntry(e));
  root.add("entries", std::move(entries));
  return root.pretty();
}

Profile readProfile(const std::string& text, const std::string& fileName) {
  const Json root = parseJson(text, fileName);
  JsonFields f(root, "profile", fileName);
  const std::string schema = f.text("schema");
  if (schema != kSchema) f.fail("schema", "is '" + schema + "'; allowed: " + kSchema);
  Profile profile;
  profile.machine = f.text("machine");
  profile.machineText = f.text("machine_text");
  for (const Json& json : f.list("entries")) {
    ProfileEntry entry = readEntry(json, fileName);
    if (profile.find(entry.task))
      failAt(fileName, json.line(), "task '" + toText(entry.task) + "' stands twice");
    profile.entries.push_back(std::move(entry));
  }
  f.done();
  return profile;
}

LoadedProfile loadProfile(const std::string& path, const std::string& fingerprint,
                          const std::string& machineText) {
  LoadedProfile loaded{{fingerprint, machineText, {}}, ""};
  try {
    const auto text = readWholeFile(path);
    if (!text) return loaded;
    Profile read = readProfile(*text, path);
    if (read.machine == fingerprint)
      loaded.profile = std::move(read);
    else
      loaded.note = path + ": ignored, it was learned on another machine (" + read.machine + "; " +
                    read.machineText + ")";
  } catch (const Error& error) {
    loaded.note = std::string("profile ignored: ") + error.what();
  }
  return loaded;
}

void saveProfile(const Profile& profile, const std::string& path) {
  replaceFile(path, writeProfile(profile), Durable::kYes);
}

int learn(Profile& profile, const RunRecord& record) {
  if (record.machine != profile.machine)
    throw Error(ErrorCode::kInput, "the record was made on machine " + record.machine +
                                       ", the profile on " + profile.machine);
  int taken = 0;
  for (const TaskRecord& t : record.tasks) {
    if (t.state != "converged") continue;
    ProfileEntry entry = entryOf(t, record);
    const auto old = std::find_if(profile.entries.begin(), profile.entries.end(),
                                  [&](const auto& e) { return sameTask(e.task, entry.task); });
    if (old == profile.entries.end())
      profile.entries.push_back(std::move(entry));
    else
      *old = std::move(entry);
    ++taken;
  }
  return taken;
}

std::string profilePathFor(const std::string& fingerprint) {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (state != nullptr && *state == '/')
    folder = state;
  else if (home != nullptr && *home == '/')
    folder = std::string(home) + "/.local/state";
  else
    return "";
  return folder + "/autoccl/" + fingerprint + ".json";
}

}  // namespace autoccl
