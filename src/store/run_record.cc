#include "store/run_record.h"

#include <algorithm>

#include "store/config_json.h"
#include "store/json.h"

namespace autoccl {
namespace {

constexpr const char* kSchema = "autoccl-run/1";
constexpr const char* kRunStates = "running|finished|failed";
constexpr const char* kClocks = "host|kernel|stream";
constexpr const char* kTaskStates = "warm-up|searching|confirming|converged|paused|off|quarantined";

Json convergence(uint64_t call, uint64_t step, double seconds) {
  return Json::object().add("call", call).add("step", step).add("seconds", seconds);
}

Json writeHistory(const HistoryEntry& h) {
  Json entry = Json::object();
  entry.add("config", toText(h.config)).add("from_call", h.fromCall).add("calls", h.calls);
  entry.add("samples", h.samples).add("median_us", h.medianUs).add("phase", h.phase);
  entry.add("verdict", h.verdict).add("version", h.version).add("seconds", h.second);
  return entry;
}

Json writeTaskRecord(const TaskRecord& t) {
  Json object = Json::object();
  object.add("task", toText(t.task)).add("communicator", t.communicator);
  writeTask(object, t.task);
  object.add("calls", t.calls).add("warmup_calls", t.warmupCalls).add("state", t.state);
  object.add("default_us", t.defaultUs).add("tuned_us", t.tunedUs);
  object.add("default_se", t.defaultSe).add("tuned_se", t.tunedSe);
  object.add("gain", t.gain).add("gain_low", t.gainLow).add("gain_high", t.gainHigh);
  object.add("confirm_samples", t.confirmSamples);
  object.add("default_config", toText(t.defaultConfig)).add("config", toText(t.config));
  object.add("clock", t.clock).add("kernel_default_us", t.kernelDefaultUs);
  object.add("kernel_tuned_us", t.kernelTunedUs).add("decided_by", t.decidedBy);
  object.add("converged_at",
             convergence(t.convergedAtCall, t.convergedAtStep, t.convergedAtSecond));
  object.add("lost_us", t.lostUs).add("saved_us", t.savedUs);
  object.add("model", Json::object()
                          .add("alpha_us", t.modelAlphaUs)
                          .add("beta_GBps", t.modelBetaGBps)
                          .add("residual", t.modelResidual));
  Json history = Json::list();
  for (const HistoryEntry& h : t.history) history.add(writeHistory(h));
  object.add("history", std::move(history));
  return object;
}

Json writeSteps(const RunRecord& r) {
  Json series = Json::list();
  for (const StepRecord& s : r.steps) {
    Json row = Json::list();
    row.add(s.ms).add(s.exposedMs).add(s.computeMs);
    series.add(std::move(row));
  }
  Json steps = Json::object();
  steps.add("default_ms", r.defaultStepMs).add("tuned_ms", r.tunedStepMs);
  steps.add("columns", Json::list().add("ms").add("exposed_ms").add("compute_ms"));
  steps.add("series", std::move(series));
  return steps;
}

Json writeRanks(const std::vector<RankRecord>& ranks) {
  Json list = Json::list();
  for (const RankRecord& r : ranks) {
    Json rank = Json::object();
    rank.add("rank", r.rank).add("compute_share", r.computeShare).add("exposed_ms", r.exposedMs);
    rank.add("dropped_samples", r.droppedSamples).add("discarded_samples", r.discardedSamples);
    list.add(std::move(rank));
  }
  return list;
}

HistoryEntry readHistory(const Json& json, const std::string& file) {
  JsonFields f(json, "history entry", file);
  HistoryEntry h;
  h.config = readConfig(f, "config");
  h.fromCall = f.count("from_call");
  h.calls = static_cast<int>(f.count("calls", INT32_MAX));
  h.samples = static_cast<int>(f.count("samples", INT32_MAX));
  h.medianUs = f.number("median_us");
  h.phase = f.text("phase");
  h.verdict = f.text("verdict");
  h.version = f.count("version");
  h.second = f.number("seconds");
  f.done();
  return h;
}

void readConvergence(JsonFields& parent, const std::string& file, uint64_t& call, uint64_t& step,
                     double& seconds) {
  JsonFields f(parent.object("converged_at"), "converged_at", file);
  call = f.count("call");
  step = f.count("step");
  seconds = f.number("seconds");
  f.done();
}

void readModel(JsonFields& parent, const std::string& file, TaskRecord& t) {
  JsonFields f(parent.object("model"), "model", file);
  t.modelAlphaUs = f.number("alpha_us");
  t.modelBetaGBps = f.number("beta_GBps");
  t.modelResidual = f.number("residual");
  f.done();
}

TaskRecord readTaskRecord(const Json& json, const std::string& file) {
  JsonFields f(json, "task", file);
  TaskRecord t;
  const std::string name = f.text("task");
  t.communicator = f.text("communicator");
  t.task = readTask(f);
  if (name != toText(t.task)) f.fail("task", "contradicts the members beside it");
  t.calls = f.count("calls");
  t.warmupCalls = f.count("warmup_calls");
  t.state = readWord(f, "state", kTaskStates);
  t.defaultUs = f.number("default_us");
  t.tunedUs = f.number("tuned_us");
  t.defaultSe = f.number("default_se");
  t.tunedSe = f.number("tuned_se");
  t.gain = f.number("gain");
  t.gainLow = f.number("gain_low");
  t.gainHigh = f.number("gain_high");
  t.confirmSamples = static_cast<int>(f.count("confirm_samples", INT32_MAX));
  t.defaultConfig = readConfig(f, "default_config");
  t.config = readConfig(f, "config");
  t.clock = readWord(f, "clock", kClocks);
  t.kernelDefaultUs = f.number("kernel_default_us");
  t.kernelTunedUs = f.number("kernel_tuned_us");
  t.decidedBy = f.text("decided_by");
  readConvergence(f, file, t.convergedAtCall, t.convergedAtStep, t.convergedAtSecond);
  t.lostUs = f.number("lost_us", -1e300);
  t.savedUs = f.number("saved_us", -1e300);
  readModel(f, file, t);
  for (const Json& h : f.list("history")) t.history.push_back(readHistory(h, file));
  f.done();
  return t;
}

double cell(const Json& row, size_t column, const std::string& file) {
  const Json& value = row.items()[column];
  const bool number = value.kind() == Json::Kind::kNumber || value.kind() == Json::Kind::kUnsigned;
  if (!number || value.number() < 0) failAt(file, value.line(), "steps: a cell is no time");
  return value.number();
}

void readSteps(JsonFields& parent, const std::string& file, RunRecord& r) {
  JsonFields f(parent.object("steps"), "steps", file);
  r.defaultStepMs = f.number("default_ms");
  r.tunedStepMs = f.number("tuned_ms");
  (void)f.list("columns");
  for (const Json& row : f.list("series")) {
    if (row.kind() != Json::Kind::kList || row.items().size() != 3)
      failAt(file, row.line(), "steps: a row of \"series\" is no list of 3 numbers");
    r.steps.push_back({cell(row, 0, file), cell(row, 1, file), cell(row, 2, file)});
  }
  f.done();
}

RankRecord readRank(const Json& json, const std::string& file) {
  JsonFields f(json, "rank", file);
  RankRecord r;
  r.rank = static_cast<int>(f.count("rank", 65535));
  r.computeShare = f.number("compute_share", 0, 1);
  r.exposedMs = f.number("exposed_ms");
  r.droppedSamples = f.count("dropped_samples");
  r.discardedSamples = f.count("discarded_samples");
  f.done();
  return r;
}

void readHead(JsonFields& f, RunRecord& r) {
  const std::string schema = f.text("schema");
  if (schema != kSchema) f.fail("schema", "is '" + schema + "'; allowed: " + kSchema);
  r.state = readWord(f, "state", kRunStates);
  r.engine = f.text("engine");
  r.machine = f.text("machine");
  r.machineText = f.text("machine_text");
  r.library = f.text("library");
  r.date = f.text("date");
  r.command = f.text("command");
  r.policy = f.text("policy");
  r.objective = f.text("objective");
  r.wallSeconds = f.number("wall_seconds");
  r.communicationMs = f.number("communication_ms");
  r.tuningCostMs = f.number("tuning_cost", -1e300);
  r.fenceMs = f.number("fence_ms");
  r.netGainMs = f.number("net_gain", -1e300);
  r.breakEvenStep = f.count("break_even_step");
  r.budgetShare = f.number("budget_share", 0, 1);
}

}  // namespace

std::string writeRunRecord(const RunRecord& r) {
  Json root = Json::object();
  root.add("schema", kSchema).add("state", r.state).add("engine", r.engine);
  root.add("machine", r.machine).add("machine_text", r.machineText).add("library", r.library);
  root.add("date", r.date).add("command", r.command);
  root.add("policy", r.policy).add("objective", r.objective);
  root.add("wall_seconds", r.wallSeconds).add("communication_ms", r.communicationMs);
  root.add("tuning_cost", r.tuningCostMs).add("fence_ms", r.fenceMs);
  root.add("net_gain", r.netGainMs).add("break_even_step", r.breakEvenStep);
  root.add("converged_at", convergence(r.convergedAtCall, r.convergedAtStep, r.convergedAtSecond));
  root.add("budget_share", r.budgetShare).add("steps", writeSteps(r));
  root.add("ranks", writeRanks(r.ranks));
  Json tasks = Json::list();
  for (const TaskRecord& t : r.tasks) tasks.add(writeTaskRecord(t));
  root.add("tasks", std::move(tasks));
  Json notes = Json::list();
  for (const std::string& note : r.notes) notes.add(note);
  root.add("notes", std::move(notes));
  return root.pretty();
}

RunRecord readRunRecord(const std::string& text, const std::string& fileName) {
  const Json root = parseJson(text, fileName);
  JsonFields f(root, "run record", fileName);
  RunRecord r;
  readHead(f, r);
  readConvergence(f, fileName, r.convergedAtCall, r.convergedAtStep, r.convergedAtSecond);
  readSteps(f, fileName, r);
  for (const Json& rank : f.list("ranks")) r.ranks.push_back(readRank(rank, fileName));
  for (const Json& task : f.list("tasks")) r.tasks.push_back(readTaskRecord(task, fileName));
  for (const Json& note : f.list("notes")) {
    if (note.kind() != Json::Kind::kText) failAt(fileName, note.line(), "notes: one is no text");
    r.notes.push_back(note.text());
  }
  f.done();
  return r;
}

void joinRecords(RunRecord& whole, const RunRecord& part) {
  whole.engine = part.engine;
  whole.policy = part.policy;
  whole.objective = part.objective;
  whole.budgetShare = part.budgetShare;
  whole.communicationMs += part.communicationMs;
  whole.tuningCostMs += part.tuningCostMs;
  whole.fenceMs += part.fenceMs;
  whole.netGainMs += part.netGainMs;
  whole.breakEvenStep = std::max(whole.breakEvenStep, part.breakEvenStep);
  whole.convergedAtCall = std::max(whole.convergedAtCall, part.convergedAtCall);
  whole.convergedAtStep = std::max(whole.convergedAtStep, part.convergedAtStep);
  whole.convergedAtSecond = std::max(whole.convergedAtSecond, part.convergedAtSecond);
  if (part.steps.size() > whole.steps.size()) {
    whole.steps = part.steps;
    whole.defaultStepMs = part.defaultStepMs;
    whole.tunedStepMs = part.tunedStepMs;
  }
  if (part.ranks.size() > whole.ranks.size()) whole.ranks = part.ranks;
  whole.tasks.insert(whole.tasks.end(), part.tasks.begin(), part.tasks.end());
  whole.notes.insert(whole.notes.end(), part.notes.begin(), part.notes.end());
}

}  // namespace autoccl
