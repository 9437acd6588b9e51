#include "store/nccl/choice.h"

#include <strings.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/lines.h"

namespace autoccl::nccl {
namespace {

constexpr int kSimple = 2;
enum Function { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
enum Algorithm { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };

/// Parts between separators; empty ones are skipped, as NCCL does.
std::vector<std::string> parts(std::string_view text, char separator) {
  std::vector<std::string> found;
  eachPart(text, separator, [&](std::string_view part) {
    if (!part.empty()) found.emplace_back(part);
  });
  return found;
}

template <size_t N>
int indexOf(const std::array<std::string_view, N>& names, const std::string& word) {
  for (size_t i = 0; i < N; ++i)
    if (word.size() == names[i].size() &&
        strncasecmp(word.data(), names[i].data(), word.size()) == 0)
      return static_cast<int>(i);
  return -1;
}

template <size_t N>
std::string listed(const std::array<std::string_view, N>& names) {
  std::string text;
  for (const std::string_view n : names) text += (text.empty() ? "" : ", ") + std::string(n);
  return text;
}

/// One variable being read: its name, its words and the release that reads it.
template <size_t N>
struct List {
  std::string_view variable;
  const std::array<std::string_view, N>& words;
  int version;

  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw Error(ErrorCode::kInput, std::string(variable) + ": " + what, hint);
  }

  /// The words of one entry, set or excluded.
  std::array<bool, N> row(std::string_view text) const {
    const bool exclude = text.starts_with('^');
    if (exclude) text.remove_prefix(1);
    std::array<bool, N> enabled;
    enabled.fill(exclude);
    for (const std::string& word : parts(text, ',')) {
      const int at = indexOf(words, word);
      if (at >= 0)
        enabled[static_cast<size_t>(at)] = !exclude;
      else if (version >= kStrictLists)
        refuse("'" + word + "' is none of its words", "allowed are " + listed(words));
    }
    return enabled;
  }

  /// Returns which functions the list speaks of.
  std::array<bool, 5> apply(std::string_view text,
                            std::array<std::array<bool, N>, 5>& table) const {
    std::array<bool, 5> spokenOf{};
    bool first = true;
    for (const std::string& entry : parts(text, ';')) {
      const std::vector<std::string> sides = parts(entry, ':');
      if (sides.size() < 2) {
        if (!first) refuse("'" + entry + "' has no function", "only the first entry may lack one");
        if (sides.empty()) continue;
        table.fill(row(sides[0]));
        spokenOf.fill(true);
      } else {
        const int function = version >= kStrictLists ? indexOf(kFunctions, sides[0]) : -1;
        if (function < 0)
          refuse("'" + sides[0] + "' is no function",
                 version >= kStrictLists ? "allowed are " + listed(kFunctions)
                                         : "releases before 2.24 take one list for all functions");
        table[static_cast<size_t>(function)] = row(sides[1]);
        spokenOf[static_cast<size_t>(function)] = true;
      }
      first = false;
    }
    return spokenOf;
  }
};

bool namesFunctionsOnly(std::string_view text) {
  const std::vector<std::string> entries = parts(text, ';');
  return !entries.empty() && parts(entries[0], ':').size() > 1;
}

/// A list of prefixes beside one without: from 2.31 on whatever the first does not name is off.
template <size_t N>
void dropUnnamed(std::string_view text, std::array<std::array<bool, N>, 5>& table) {
  std::array<bool, 5> named{};
  for (const std::string& entry : parts(text, ';')) {
    const std::vector<std::string> sides = parts(entry, ':');
    const int function = sides.empty() ? -1 : indexOf(kFunctions, sides[0]);
    if (function >= 0) named[static_cast<size_t>(function)] = true;
  }
  for (size_t f = 0; f < named.size(); ++f)
    if (!named[f]) table[f].fill(false);
}

}  // namespace

bool implemented(int function, int algorithm, int protocol) {
  switch (algorithm) {
    case kTree:
      return function == kAllReduce;
    case kRing:
      return true;
    case kCollNetDirect:
    case kNvls:
      return protocol == kSimple && function != kBroadcast && function != kReduce;
    case kCollNetChain:
    case kNvlsTree:
      return protocol == kSimple && function == kAllReduce;
    case kPat:
      return protocol == kSimple && (function == kAllGather || function == kReduceScatter);
    default:
      return false;
  }
}

bool Enabled::usable(int function) const {
  const auto f = static_cast<size_t>(function);
  for (size_t a = 0; a < kAlgorithms.size(); ++a)
    for (size_t p = 0; p < kProtocols.size(); ++p)
      if (algorithms[f][a] && protocols[f][p] &&
          implemented(function, static_cast<int>(a), static_cast<int>(p)))
        return true;
  return false;
}

Enabled enabledBy(std::string_view algo, std::string_view proto, int version) {
  Enabled enabled;
  for (auto& row : enabled.algorithms) row.fill(true);
  for (auto& row : enabled.protocols) row.fill(true);
  (void)List<7>{"NCCL_ALGO", kAlgorithms, version}.apply(algo, enabled.algorithms);
  const auto listed = List<3>{"NCCL_PROTO", kProtocols, version}.apply(proto, enabled.protocols);
  for (size_t f = 0; f < listed.size(); ++f)
    enabled.ll128Forced[f] = listed[f] && enabled.protocols[f][1];
  const bool algoNames = namesFunctionsOnly(algo), protoNames = namesFunctionsOnly(proto);
  if (version >= kPrefixLeavesRest && algoNames != protoNames && !algo.empty() && !proto.empty()) {
    if (algoNames) dropUnnamed(algo, enabled.algorithms);
    if (protoNames) dropUnnamed(proto, enabled.protocols);
  }
  return enabled;
}

}  // namespace autoccl::nccl
