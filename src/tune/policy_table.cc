#include "tune/policy_table.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr std::array<std::pair<std::string_view, PolicyFactory>, 6> kPolicies{{
    {"subspacerace", makeSubspaceRace},
    {"paper", makePaperDescent},
    {"artifact", makeArtifactDescent},
    {"exhaustive", makeExhaustive},
    {"random", makeRandom},
    {"anneal", makeAnneal},
}};

}  // namespace

std::unique_ptr<Policy> makePolicy(std::string_view name, const Space& space,
                                   const PolicyOptions& options) {
  std::string known;
  for (const auto& [word, make] : kPolicies) {
    if (word == name) return make(space, options);
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw Error(ErrorCode::kUsage, "unknown search policy '" + std::string(name) + "'",
              "allowed: " + known);
}

std::vector<std::string_view> policyNames() {
  std::vector<std::string_view> names;
  names.reserve(kPolicies.size());
  for (const auto& [word, make] : kPolicies) names.push_back(word);
  return names;
}

}  // namespace autoccl
