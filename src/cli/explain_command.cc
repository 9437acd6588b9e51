#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/learned.h"
#include "cli/output.h"
#include "cli/space_probe.h"
#include "report/explanation.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::vector<std::string> words;  // [FILE] [TASK...] as given
  std::string json;
  bool history = false, space = false;
};

/// The first word is a file if there is one of that name or it looks like a path; the rest is the
/// task.
struct Place {
  std::string file, task;
};
Place placeOf(const std::vector<std::string>& words) {
  Place place;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (i == 0 && (w.find('/') != w.npos || w.ends_with(".json") || access(w.c_str(), F_OK) == 0))
      place.file = w;
    else
      place.task += (place.task.empty() ? "" : " ") + w;
  }
  return place;
}

/// The chosen among `all`; throws Error that lists what there is where nothing fits.
template <class T>
std::vector<const T*> chosen(const std::vector<T>& all, const std::string& query,
                             const std::string& path) {
  std::vector<const T*> found;
  std::string known;
  for (const T& t : all) {
    if (fits(t.task, query)) found.push_back(&t);
    known += (known.empty() ? "" : ", ") + toText(t.task);
  }
  if (found.empty() && !query.empty())
    throw Error(ErrorCode::kUsage, "TASK: nothing in " + path + " fits '" + query + "'",
                "there is: " + (known.empty() ? "nothing" : known));
  return found;
}

/// Asked of the engine on this machine, with the record's default time.
std::string spaceOf(const TaskRecord& t) {
  return spaceText(SpaceProbe(t.task.nRanks).facts(t.task, t.defaultUs));
}

void explainRecord(const Options& o, const Learned& learned, const std::string& task) {
  Json list = Json::list();
  std::string text;
  for (const TaskRecord* t : chosen(learned.record->tasks, task, learned.path)) {
    text += (text.empty() ? "" : "\n") + explain(*t);
    if (o.space) text += spaceOf(*t);
    if (o.history) text += "\n" + historyText(*t, terminalWidth());
    list.add(explanationJson(*t));
  }
  if (o.json != "-") writeText(text.empty() ? "no collective calls were seen\n" : text, "-");
  if (!o.json.empty()) writeJson(Json::object().add("tasks", std::move(list)), o.json);
}

Json entryJson(const ProfileEntry& e) {
  return Json::object()
      .add("task", toText(e.task))
      .add("config", toText(e.config))
      .add("tuned_us", e.tunedUs)
      .add("default_config", toText(e.defaultConfig))
      .add("default_us", e.defaultUs)
      .add("gain", e.gain)
      .add("gain_low", e.gainLow)
      .add("gain_high", e.gainHigh)
      .add("decided_by", e.decidedBy);
}

void explainProfile(const Options& o, const Learned& learned, const std::string& task) {
  if (o.history || o.space)
    throw Error(ErrorCode::kUsage,
                std::string(o.history ? "--history: " : "--space: ") + learned.path +
                    " is a profile, not a run record",
                "give what autoccl run --json wrote");
  Json list = Json::list();
  std::string text;
  for (const ProfileEntry* e : chosen(learned.profile->entries, task, learned.path)) {
    text += (text.empty() ? "" : "\n") + explain(*e);
    list.add(entryJson(*e));
  }
  if (o.json != "-") writeText(text.empty() ? "the profile is empty\n" : text, "-");
  if (!o.json.empty()) writeJson(Json::object().add("tasks", std::move(list)), o.json);
}

void run(const Options& o) {
  const Place place = placeOf(o.words);
  const Learned learned = readLearned(place.file);
  if (learned.record)
    explainRecord(o, learned, place.task);
  else
    explainProfile(o, learned, place.task);
}

}  // namespace

void addExplain(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("WHAT", o->words,
                 "[FILE] [TASK]: a run record or a profile (default: this machine's profile), then "
                 "words of the tasks to explain, as allreduce 1M (default: all).")
      ->type_name("[FILE] [TASK]");
  app.add_flag("--history", o->history, "Also prints every block of measured calls.");
  app.add_flag(
      "--space", o->space,
      "Also prints the subspaces, their configs and what an exhaustive search would take.");
  app.add_option("--json", o->json,
                 "Writes the explanations as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
