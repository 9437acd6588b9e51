#include "cli/findings_output.h"

#include <charconv>
#include <set>

namespace autoccl::cli {
namespace {

struct Place {
  std::string file;  // empty: nowhere in a file
  int line = 0;
};

Place placeOf(const std::string& where) {
  const size_t colon = where.rfind(':');
  int line = 0;
  if (colon != where.npos) {
    const char* const end = where.data() + where.size();
    const auto [at, error] = std::from_chars(where.data() + colon + 1, end, line);
    if (error == std::errc() && at == end && line > 0) return {where.substr(0, colon), line};
  }
  const bool isFile = where.find('/') != where.npos || where.find('.') != where.npos;
  return isFile && where.find(' ') == where.npos ? Place{where, 0} : Place{};
}

std::string ruleOf(const Finding& f) {
  return f.rule.empty() ? "autoccl" : f.rule;
}

Json resultOf(const Finding& f) {
  Json result = Json::object();
  const Place place = placeOf(f.where);
  const std::string begin = place.file.empty() ? f.where + ": " : "";
  result.add("ruleId", ruleOf(f)).add("level", "warning");
  result.add("message", Json::object().add("text", begin + f.what + ". " + f.consequence +
                                                       ". To do: " + f.fix + "."));
  if (place.file.empty()) return result;
  Json physical = Json::object();
  physical.add("artifactLocation", Json::object().add("uri", place.file));
  if (place.line > 0) physical.add("region", Json::object().add("startLine", place.line));
  result.add("locations",
             Json::list().add(Json::object().add("physicalLocation", std::move(physical))));
  return result;
}

}  // namespace

std::string findingText(const Finding& f) {
  return "\n" + f.where + "\n  found       " + f.what + "\n  so          " + f.consequence +
         "\n  to do       " + f.fix + "\n";
}

std::string findingsText(const std::vector<Finding>& findings) {
  if (findings.empty()) return "nothing to say against it\n";
  std::string text;
  for (const Finding& f : findings) text += findingText(f);
  const size_t n = findings.size();
  return text + "\n" + std::to_string(n) + (n == 1 ? " finding\n" : " findings\n");
}

Json findingJson(const Finding& f) {
  Json object = Json::object();
  object.add("where", f.where).add("what", f.what);
  object.add("consequence", f.consequence).add("fix", f.fix);
  if (!f.rule.empty()) object.add("rule", f.rule);
  return object;
}

Json findingsSarif(const std::vector<Finding>& findings) {
  Json rules = Json::list(), results = Json::list();
  std::set<std::string> known;
  for (const Finding& f : findings) {
    if (known.insert(ruleOf(f)).second) rules.add(Json::object().add("id", ruleOf(f)));
    results.add(resultOf(f));
  }
  Json driver = Json::object();
  driver.add("name", "autoccl").add("version", AUTOCCL_VERSION).add("rules", std::move(rules));
  Json run = Json::object();
  run.add("tool", Json::object().add("driver", std::move(driver)));
  run.add("results", std::move(results));
  Json log = Json::object();
  log.add("$schema", "https://json.schemastore.org/sarif-2.1.0.json").add("version", "2.1.0");
  return log.add("runs", Json::list().add(std::move(run)));
}

}  // namespace autoccl::cli
