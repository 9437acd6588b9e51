#include "store/nccl/exchange.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "store/nccl/choice.h"
#include "store/nccl/order.h"
#include "store/nccl/selection.h"

namespace autoccl::nccl {
namespace {

constexpr int kLl128 = 1;
constexpr uint64_t kSmallest = 1 << 10, kLargest = 1 << 30;  // of imported entries

/// The rule of an entry without its range; nothing where the choice is not NCCL's.
std::optional<Rule> ruleOf(const ProfileEntry& e) {
  Rule rule;
  rule.function = indexIn(kCollectiveOf, e.task.collective);
  rule.algorithm = indexIn(kAlgorithmOf, e.config.algorithm);
  rule.protocol = indexIn(kProtocolOf, e.config.protocol);
  const bool ours = e.config.transport == Transport::kAuto;
  if (!ours || rule.function < 0 || rule.algorithm < 0 || rule.protocol < 0) return std::nullopt;
  rule.channels = e.config.channels == 0 ? -1 : e.config.channels;
  rule.nRanks = e.task.nRanks;
  return rule;
}

/// Why an entry gives no rule; empty: it gives one.
std::string objection(const ProfileEntry& e) {
  if (e.config == e.defaultConfig) return "keeps the default";
  if (!ruleOf(e)) return "its choice is not one of NCCL's";
  if (e.gainLow <= 1) return "its gain cannot be told from noise";
  return "";
}

using Group = std::pair<int, int>;  // function, ranks

/// Entries of each collective and rank count in the order of their sizes; one for each size, the
/// one with the most samples.
std::map<Group, std::map<uint64_t, const ProfileEntry*>> grouped(const Profile& profile) {
  std::map<Group, std::map<uint64_t, const ProfileEntry*>> groups;
  for (const ProfileEntry& e : profile.entries) {
    const int function = indexIn(kCollectiveOf, e.task.collective);
    if (function < 0) continue;
    const ProfileEntry*& at = groups[{function, e.task.nRanks}][e.task.bytes];
    if (at == nullptr || at->samples < e.samples) at = &e;
  }
  return groups;
}

uint64_t between(uint64_t low, uint64_t high) {
  return static_cast<uint64_t>(std::sqrt(static_cast<double>(low) * static_cast<double>(high)));
}

std::string lower(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) out += static_cast<char>(std::tolower(c));
  return out;
}

/// "ring,tree" of a set of indices.
template <size_t N>
std::string words(const std::set<int>& indices, const std::array<std::string_view, N>& names) {
  std::string text;
  for (const int i : indices)
    text += (text.empty() ? "" : ",") + lower(names[static_cast<size_t>(i)]);
  return text;
}

}  // namespace

std::vector<Rule> rulesOf(const Profile& profile, std::vector<std::string>& left) {
  std::vector<Rule> rules;
  for (const auto& [group, entries] : grouped(profile)) {
    for (auto at = entries.begin(); at != entries.end(); ++at) {
      const ProfileEntry& e = *at->second;
      if (const std::string why = objection(e); !why.empty()) {
        left.push_back(toText(e.task) + ": " + why);
        continue;
      }
      Rule rule = *ruleOf(e);
      const auto next = std::next(at);
      rule.minBytes =
          at == entries.begin() ? at->first : between(std::prev(at)->first, at->first) + 1;
      rule.maxBytes = next == entries.end() ? UINT64_MAX : between(at->first, next->first);
      rules.push_back(rule);
    }
  }
  return rules;
}

std::vector<ProfileEntry> entriesOf(const std::vector<Rule>& rules, int nRanks,
                                    const std::string& origin) {
  std::vector<ProfileEntry> entries;
  std::set<std::tuple<int, int, uint64_t>> known;
  for (const Rule& rule : rules) {
    const int ranks = rule.nRanks > 0 ? rule.nRanks : nRanks;
    if (rule.protocol == kLl128 || ranks < 2) continue;
    for (uint64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
      if (bytes < rule.minBytes || bytes > rule.maxBytes) continue;
      if (!known.emplace(rule.function, ranks, bytes).second) continue;
      ProfileEntry e;
      e.task.collective = kCollectiveOf[static_cast<size_t>(rule.function)];
      e.task.dtype = kAnyDataType;
      e.task.op = kAnyReduceOp;
      e.task.nRanks = ranks;
      e.task.bytes = bytes;
      e.defaultConfig = kUntouched;
      e.config = kUntouched;
      e.config.algorithm = kAlgorithmOf[static_cast<size_t>(rule.algorithm)];
      e.config.protocol = kProtocolOf[static_cast<size_t>(rule.protocol)];
      e.config.channels = static_cast<uint16_t>(std::max(rule.channels, 0));
      e.decidedBy = "imported";
      e.library = origin;
      entries.push_back(e);
    }
  }
  return entries;
}

std::string environmentOf(const Profile& profile) {
  std::map<int, std::set<int>> algorithms, protocols;
  std::vector<std::string> left;
  for (const Rule& rule : rulesOf(profile, left)) {
    algorithms[rule.function].insert(rule.algorithm);
    protocols[rule.function].insert(rule.protocol);
  }
  std::string algo, proto;
  for (const auto& [function, used] : protocols) {
    if (used.contains(kLl128)) continue;
    const std::string name = std::string(kFunctionWords[static_cast<size_t>(function)]) + ":";
    algo += (algo.empty() ? "" : ";") + name + words(algorithms[function], kAlgorithms);
    proto += (proto.empty() ? "" : ";") + name + words(used, kProtocols);
  }
  return algo.empty() ? "" : "NCCL_ALGO=" + algo + "\nNCCL_PROTO=" + proto + "\n";
}

std::string callConfigsOf(const Profile& profile) {
  std::string text;
  std::vector<std::string> left;
  for (const Rule& rule : rulesOf(profile, left)) {
    const std::string selection = selectionFor(rule.algorithm, rule.protocol);
    if (selection.empty()) continue;
    text += std::string(kFunctionWords[static_cast<size_t>(rule.function)]) + " " +
            std::to_string(rule.minBytes) + " " + std::to_string(rule.maxBytes) + " " +
            std::to_string(rule.nRanks) + " " + selection;
    if (rule.channels > 0) text += " minCTAs=maxCTAs=" + std::to_string(rule.channels);
    text += "\n";
  }
  return text;
}

}  // namespace autoccl::nccl
