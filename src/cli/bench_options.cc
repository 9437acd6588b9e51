#include "cli/bench_options.h"

#include <algorithm>

#include "base/error.h"
#include "bench/pattern.h"
#include "bench/peers.h"
#include "cli/output.h"
#include "cli/sizes.h"
#include "model/config.h"
#include "store/json.h"

namespace autoccl::cli {
namespace {

using bench::BenchPlan;

[[noreturn]] void refuse(const std::string& option, std::string_view word,
                         const std::string& allowed) {
  throw Error(ErrorCode::kUsage, option + ": '" + std::string(word) + "' is not known",
              "allowed: " + allowed);
}

/// The words of a list that must not be empty.
std::vector<std::string_view> wordsOf(const std::string& option, const std::string& text,
                                      const std::string& allowed) {
  auto words = split(text, ',');
  if (words.empty()) refuse(option, "", allowed);
  return words;
}

std::vector<Collective> collectivesFrom(const std::string& text) {
  std::string allowed;
  for (int i = 0; i < kCollectives; ++i) {
    const auto c = static_cast<Collective>(i);
    if (bench::benchable(c)) allowed += (allowed.empty() ? "" : ", ") + std::string(toText(c));
  }
  std::vector<Collective> collectives;
  for (const std::string_view word : wordsOf("--collective", text, allowed)) {
    const auto c = fromText<Collective>(word);
    if (!c || !bench::benchable(*c)) refuse("--collective", word, allowed);
    collectives.push_back(*c);
  }
  return collectives;
}

void setModes(const std::string& text, BenchPlan& plan) {
  const std::string allowed = "default, tuned, exhaustive";
  for (const std::string_view word : wordsOf("--mode", text, allowed)) {
    if (word == "tuned")
      plan.tuned = true;
    else if (word == "exhaustive")
      plan.exhaustive = true;
    else if (word != "default")
      refuse("--mode", word, allowed);
  }
}

std::vector<bool> buffersFrom(const std::string& text) {
  const std::string allowed = "registered, ordinary";
  std::vector<bool> kinds;
  for (const std::string_view word : wordsOf("--buffers", text, allowed)) {
    if (word != "registered" && word != "ordinary") refuse("--buffers", word, allowed);
    kinds.push_back(word == "registered");
  }
  return kinds;
}

void checkPeers(const std::vector<std::string>& names) {
  std::string allowed;
  for (const bench::Peer& p : bench::peers()) allowed += (allowed.empty() ? "" : ", ") + p.name;
  for (const std::string& name : names) {
    const auto& all = bench::peers();
    if (std::none_of(all.begin(), all.end(), [&](const bench::Peer& p) { return p.name == name; }))
      refuse("--vs", name, allowed);
  }
}

/// The tuned configs of an earlier result, each for its own task only.
void addPinsFrom(const std::string& path, std::vector<bench::Pin>& pins) {
  const Json document = parseJson(readInput(path), path);
  const Json* rows = document.find("rows");
  if (!rows || rows->kind() != Json::Kind::kList)
    failAt(path, document.line(), "no result of autoccl bench: there is no list \"rows\"");
  for (const Json& row : rows->items()) {
    const auto text = [&](const char* key) {
      const Json* value = row.find(key);
      if (!value || value->kind() != Json::Kind::kText)
        failAt(path, row.line(), std::string("a row without the text \"") + key + "\"");
      return value->text();
    };
    const Json* bytes = row.find("bytes");
    if (!bytes) failAt(path, row.line(), "a row without \"bytes\"");
    if (text("who") != "tuned") continue;
    pins.push_back(
        {text("config"), fromText<Collective>(text("collective")), bytes->unsignedValue()});
  }
}

}  // namespace

BenchPlan planOf(const BenchWords& words) {
  BenchPlan plan;
  plan.ranks = words.ranks;
  plan.collectives = collectivesFrom(words.collectives);
  plan.sizes = sizesFrom(words.sizes);
  for (const std::string_view name : split(words.vs, ',')) plan.peers.emplace_back(name);
  checkPeers(plan.peers);
  plan.registered = buffersFrom(words.buffers);
  setModes(words.modes, plan);
  const auto load = bench::loadFromText(words.compute);
  if (!load) refuse("--compute", words.compute, "none, light, heavy");
  plan.load = *load;
  for (const std::string& pin : words.pins)
    plan.pins.push_back({toText(parseConfig(pin)), std::nullopt, std::nullopt});
  if (!words.pinFrom.empty()) addPinsFrom(words.pinFrom, plan.pins);
  plan.rounds = words.rounds;
  plan.roundMs = words.roundMs;
  plan.tuneCalls = words.tuneCalls;
  plan.tuneSeconds = words.tuneSeconds;
  plan.check = words.check;
  plan.limits = !words.noLimits;
  return plan;
}

}  // namespace autoccl::cli
