#include "store/nccl/selection.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <bitset>

#include "base/error.h"
#include "base/lines.h"

namespace autoccl::nccl {
namespace {

struct Name {
  std::string_view text;
  int algorithm, protocol;
};
constexpr std::array<Name, 9> kNames = {{{"TREE_LL", 0, 0},
                                         {"TREE_LL128", 0, 1},
                                         {"TREE_SIMPLE", 0, 2},
                                         {"RING_LL", 1, 0},
                                         {"RING_LL128", 1, 1},
                                         {"RING_SIMPLE", 1, 2},
                                         {"NVLS_SIMPLE", 4, 2},
                                         {"NVLSTREE_SIMPLE", 5, 2},
                                         {"PAT_SIMPLE", 6, 2}}};
using Set = std::bitset<kNames.size()>;

bool startsWith(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() &&
         strncasecmp(name.data(), prefix.data(), prefix.size()) == 0;
}

Set term(std::string_view text) {
  const bool negated = text.starts_with('^');
  const std::string_view prefix = negated ? text.substr(1) : text;
  Set set;
  for (size_t i = 0; i < kNames.size(); ++i) set[i] = startsWith(kNames[i].text, prefix);
  if (prefix.empty() || set.none())
    throw Error(ErrorCode::kInput, "selection: '" + std::string(text) + "' begins no name",
                "names are TREE_, RING_ with LL, LL128, SIMPLE; NVLS_SIMPLE, NVLSTREE_SIMPLE, "
                "PAT_SIMPLE");
  return negated ? ~set : set;
}

}  // namespace

std::string selectionFor(int algorithm, int protocol) {
  const auto found = std::ranges::find_if(
      kNames, [&](const Name& n) { return n.algorithm == algorithm && n.protocol == protocol; });
  if (found == kNames.end()) return "";
  std::string text(found->text);
  for (const Name& n : kNames)
    if (n.text != found->text && startsWith(n.text, found->text))
      text += "+^" + std::string(n.text);
  return text;
}

std::vector<std::string_view> selected(std::string_view selection) {
  Set allowed;
  eachPart(selection, ',', [&](std::string_view alternative) {
    Set all;
    all.set();
    eachPart(alternative, '+', [&](std::string_view part) { all &= term(part); });
    allowed |= all;
  });
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kNames.size(); ++i)
    if (allowed[i]) names.push_back(kNames[i].text);
  return names;
}

}  // namespace autoccl::nccl
