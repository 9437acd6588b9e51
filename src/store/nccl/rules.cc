#include "store/nccl/rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/lines.h"
#include "store/json.h"
#include "store/nccl/choice.h"

namespace autoccl::nccl {
namespace {

constexpr size_t kRequired = 8, kMost = 10;

/// One line being read.
class Line {
 public:
  Line(std::string_view text, const std::string& file, int number) : file_(file), number_(number) {
    for (size_t from = 0; from <= text.size();) {
      const size_t end = std::min(text.find(',', from), text.size());
      fields_.push_back(text.substr(from, end - from));
      from = end + 1;
    }
    if (fields_.size() < kRequired || fields_.size() > kMost)
      fail("has " + std::to_string(fields_.size()) +
           " fields; 8 to 10 are expected: collective,"
           "min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]]");
  }

  [[nodiscard]] bool has(size_t at) const { return at < fields_.size(); }

  template <size_t N>
  [[nodiscard]] int word(size_t at, const char* what,
                         const std::array<std::string_view, N>& words) const {
    const auto found = std::ranges::find(words, fields_[at]);
    if (found != words.end()) return static_cast<int>(found - words.begin());
    std::string allowed;
    for (const std::string_view w : words)
      allowed += (allowed.empty() ? "" : ", ") + std::string(w);
    fail(quoted(at) + " is no " + what + "; allowed are " + allowed);
  }

  [[nodiscard]] uint64_t bytes(size_t at, const char* what) const {
    return number<uint64_t>(at, what, "a plain number of bytes");
  }

  [[nodiscard]] int count(size_t at, const char* what, int low, int high) const {
    const int value = number<int>(at, what, "a whole number from -1 to " + std::to_string(high));
    if (value != -1 && (value < low || value > high))
      fail(std::string(what) + " " + std::to_string(value) + " is not -1 and not from " +
           std::to_string(low) + " to " + std::to_string(high));
    return value;
  }

  [[noreturn]] void fail(const std::string& reason) const { failAt(file_, number_, reason); }

 private:
  template <class T>
  [[nodiscard]] T number(size_t at, const char* what, const std::string& allowed) const {
    T value{};
    const std::string_view text = fields_[at];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail(std::string(what) + " is " + quoted(at) + "; it must be " + allowed);
    return value;
  }

  [[nodiscard]] std::string quoted(size_t at) const { return "'" + std::string(fields_[at]) + "'"; }

  const std::string& file_;
  int number_;
  std::vector<std::string_view> fields_;
};

Rule ruleOf(const Line& line, int number) {
  Rule rule;
  rule.line = number;
  rule.function = line.word(0, "collective", kFunctionWords);
  rule.minBytes = line.bytes(1, "min_bytes");
  rule.maxBytes = line.bytes(2, "max_bytes");
  if (rule.minBytes > rule.maxBytes) line.fail("min_bytes is above max_bytes");
  rule.algorithm = line.word(3, "algorithm", kAlgorithmWords);
  rule.protocol = line.word(4, "protocol", kProtocolWords);
  rule.channels = line.count(5, "channels", 1, 64);
  rule.nNodes = line.count(6, "nNodes", 1, 1 << 20);
  rule.nRanks = line.count(7, "nRanks", 1, 1 << 24);
  if (line.has(8)) rule.pipeOps = line.count(8, "numPipeOps", 0, 1 << 20);
  if (line.has(9)) rule.registered = line.count(9, "regBuff", 0, 1);
  return rule;
}

/// Everything `inner` matches is matched by `outer` too.
bool covers(const Rule& outer, const Rule& inner) {
  const auto any = [](int o, int i) { return o == -1 || o == i; };
  return outer.function == inner.function && outer.minBytes <= inner.minBytes &&
         outer.maxBytes >= inner.maxBytes && any(outer.nNodes, inner.nNodes) &&
         any(outer.nRanks, inner.nRanks) && any(outer.pipeOps, inner.pipeOps) &&
         any(outer.registered, inner.registered);
}

bool sameJobs(const Rule& a, const Rule& b) {
  return a.function == b.function && a.nNodes == b.nNodes && a.nRanks == b.nRanks &&
         a.pipeOps == b.pipeOps && a.registered == b.registered;
}

/// All rules of one function and one kind of job, in the order of their sizes.
class RangeCheck {
 public:
  RangeCheck(const std::string& file, std::vector<Finding>& findings)
      : file_(file), findings_(findings) {}

  void run(std::vector<Rule> rules) {
    std::ranges::stable_sort(rules, {}, &Rule::minBytes);
    uint64_t next = 0;  // the first byte count that no rule so far covers
    bool open = true;   // there are still sizes above
    for (const Rule& rule : rules) {
      if (open && rule.minBytes > next) gap(rule, next);
      if (!open || rule.minBytes < next) overlap(rule);
      if (rule.maxBytes == UINT64_MAX) open = false;
      if (open) next = std::max(next, rule.maxBytes + 1);
    }
    if (open) unbounded(rules.back(), next);
  }

 private:
  void add(const Rule& rule, std::string what, std::string consequence, std::string fix) {
    findings_.push_back({file_ + ":" + std::to_string(rule.line), std::move(what),
                         std::move(consequence), std::move(fix)});
  }
  static std::string name(const Rule& rule) {
    return std::string(kFunctionWords[static_cast<size_t>(rule.function)]);
  }
  void gap(const Rule& rule, uint64_t from) {
    add(rule,
        name(rule) + " from " + std::to_string(from) + " to " + std::to_string(rule.minBytes - 1) +
            " bytes has no rule",
        "NCCL's own choice there, on one channel in releases of the example tuner",
        "let this rule begin at " + std::to_string(from));
  }
  void overlap(const Rule& rule) {
    add(rule,
        name(rule) + " from " + std::to_string(rule.minBytes) + " bytes has an earlier rule too",
        "the one that stands first in the file wins", "make the ranges meet");
  }
  void unbounded(const Rule& rule, uint64_t from) {
    add(rule, name(rule) + " of " + std::to_string(from) + " bytes and more has no rule",
        "large messages run untuned", "let the last range end at " + std::to_string(UINT64_MAX));
  }

  const std::string& file_;
  std::vector<Finding>& findings_;
};

void lintOne(const Rule& rule, const std::string& where, std::vector<Finding>& out) {
  if (!implemented(rule.function, rule.algorithm, rule.protocol))
    out.push_back({where,
                   std::string(kAlgorithmWords[static_cast<size_t>(rule.algorithm)]) + "/" +
                       std::string(kProtocolWords[static_cast<size_t>(rule.protocol)]) +
                       " does not exist for " +
                       std::string(kFunctionWords[static_cast<size_t>(rule.function)]),
                   "the rule never takes effect", "choose a pair that NCCL has"});
  if (rule.protocol == 1)
    out.push_back({where, "LL128 is forced",
                   "a tuner that forces it where NCCL has it off corrupts data without an error",
                   "use a tuner that leaves entries alone which NCCL has switched off"});
}

}  // namespace

std::vector<Rule> readRules(std::string_view text, const std::string& fileName) {
  std::vector<Rule> rules;
  eachLine(text, [&](std::string_view row, int number) {
    if (row.empty() || row.starts_with('#')) return;
    rules.push_back(ruleOf(Line(row, fileName, number), number));
  });
  return rules;
}

std::string writeRules(const std::vector<Rule>& rules) {
  std::string text =
      "# "
      "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  for (const Rule& r : rules) {
    text += std::string(kFunctionWords[static_cast<size_t>(r.function)]) + "," +
            std::to_string(r.minBytes) + "," + std::to_string(r.maxBytes) + "," +
            std::string(kAlgorithmWords[static_cast<size_t>(r.algorithm)]) + "," +
            std::string(kProtocolWords[static_cast<size_t>(r.protocol)]);
    for (const int field : {r.channels, r.nNodes, r.nRanks, r.pipeOps, r.registered})
      text += "," + std::to_string(field);
    text += "\n";
  }
  return text;
}

std::vector<Finding> lintRules(const std::vector<Rule>& rules, const std::string& fileName) {
  std::vector<Finding> findings;
  std::vector<std::vector<Rule>> jobs;
  for (size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    const std::string where = fileName + ":" + std::to_string(rule.line);
    lintOne(rule, where, findings);
    const std::span<const Rule> before(rules.data(), i);
    const auto earlier =
        std::ranges::find_if(before, [&](const Rule& r) { return covers(r, rule); });
    if (earlier != before.end()) {
      findings.push_back({where, "no call can reach this rule",
                          "line " + std::to_string(earlier->line) + " matches first",
                          "put it before that line, or remove it"});
      continue;
    }
    const auto group = std::ranges::find_if(
        jobs, [&](const std::vector<Rule>& j) { return sameJobs(j.front(), rule); });
    if (group == jobs.end())
      jobs.push_back({rule});
    else
      group->push_back(rule);
  }
  for (const std::vector<Rule>& job : jobs) RangeCheck(fileName, findings).run(job);
  return findings;
}

}  // namespace autoccl::nccl
