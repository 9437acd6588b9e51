// Formulas: Thakur, Rabenseifner & Gropp (IJHPCA 19, 2005) for ring and halving-doubling, Sanders,
// Speck & Träff (2009) for the trees; the direct forms follow from their tiles.
#include "plan/catalog.h"

#include <algorithm>
#include <bit>

#include "plan/halving_doubling.h"
#include "plan/ring.h"
#include "plan/tree.h"

namespace autoccl {
namespace {

using A = Algorithm;
using C = Collective;

int below(int n) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
}
double floorLg(int n) {
  return std::bit_width(static_cast<unsigned>(n)) - 1;
}
double ceilLg(int n) {
  return std::bit_width(static_cast<unsigned>(n - 1));
}
double share(int n) {
  return double(n - 1) / n;
}

// ---- ring ----
CostTerms ringBoth(int n) {
  return {2.0 * (n - 1), 2 * share(n), share(n)};
}
CostTerms ringScatter(int n) {
  return {n - 1.0, share(n), share(n)};
}
CostTerms ringGather(int n) {
  return {n - 1.0, share(n), 0};
}
CostTerms chainCopy(int n) {
  return {n - 1.0, 1, 0};
}
CostTerms chainSum(int n) {
  return {n - 1.0, 1, 1};
}
// ---- double tree: both halves up, and a half down to each of at most two children ----
CostTerms treeBoth(int n) {
  return {2 * ceilLg(n), std::min(n / 2.0, 2.0), 1};
}
CostTerms treeCopy(int n) {
  return {ceilLg(n), 1, 0};
}
CostTerms treeSum(int n) {
  return {ceilLg(n), 1, 1};
}
// ---- halving-doubling, p = 2^floor(lg n); other n fold first and unfold last ----
CostTerms halveBoth(int n) {
  const int p = below(n), fold = n == p ? 0 : 1;
  return {2 * floorLg(n) + 2 * fold, 2 * share(p) + 2 * fold, share(p) + fold};
}
CostTerms halveScatter(int n) {
  const int p = below(n);
  if (n == p) return {floorLg(n), share(n), share(n)};
  return {floorLg(n) + 2, 1 + (2.0 * p - 1) / n, 1 + (2.0 * p - 2) / n};  // at most
}
CostTerms doubleGather(int n) {
  const CostTerms c = halveScatter(n);
  return {c.steps, c.moved, 0};
}
// ---- direct: one-shot pulls all it needs; two-shot deals the work out evenly ----
CostTerms pullSum(int n) {
  return {1, n - 1.0, n - 1.0};
}
CostTerms pullShareSum(int n) {
  return {1, share(n), share(n)};
}
CostTerms pullShare(int n) {
  return {1, share(n), 0};
}
CostTerms pullWhole(int) {
  return {1, 1, 0};
}
CostTerms dealtBoth(int n) {
  return {2, 2 * share(n), share(n)};
}
CostTerms dealtSum(int n) {
  return {2, 1, share(n)};
}
CostTerms dealtShare(int n) {
  return {2, share(n), 0};
}

constexpr std::string_view kFewBytes = "large messages: fewest bytes, neighbours only";
constexpr std::string_view kChain = "large messages: one pass, pipelined by chunk";
constexpr std::string_view kPairwise = "any size: one partner at a time, no incast";
constexpr std::string_view kTrees = "middle sizes, many ranks: logarithmic and pipelined";
constexpr std::string_view kHalves = "middle sizes, 2^k ranks: few steps and few bytes";
constexpr std::string_view kAtOnce = "small messages: one step";
constexpr std::string_view kDealt = "large messages in one host: one pass over memory, work shared";

constexpr std::string_view kHalveText =
    "lg n a + (n-1)/n S (b+g); other n: (lg p + 2) a + at most (1 + (2p-1)/n) S (b+g)";
constexpr std::string_view kDoubleText =
    "lg n a + (n-1)/n S b; other n: (lg p + 2) a + at most (1 + (2p-1)/n) S b";
constexpr std::string_view kShareText = "a + (n-1)/n S b";
constexpr std::string_view kDealtText = "2 a + (n-1)/n S b";

constexpr CatalogRow kRows[] = {
    {A::kRing, C::kAllReduce, ringAllReduce, ringBoth, "2(n-1) a + 2(n-1)/n S b + (n-1)/n S g",
     kFewBytes},
    {A::kRing, C::kAllGather, ringAllGather, ringGather, "(n-1) a + (n-1)/n S b", kFewBytes},
    {A::kRing, C::kReduceScatter, ringReduceScatter, ringScatter, "(n-1) a + (n-1)/n S (b+g)",
     kFewBytes},
    {A::kRing, C::kBroadcast, ringBroadcast, chainCopy, "(n-1) a + S b", kChain},
    {A::kRing, C::kReduce, ringReduce, chainSum, "(n-1) a + S (b+g)", kChain},
    {A::kRing, C::kAllToAll, ringAllToAll, ringGather, "(n-1) a + (n-1)/n S b", kPairwise},
    {A::kRing, C::kAllToAllv, ringAllToAll, ringGather, "(n-1) a + (n-1)/n S b", kPairwise},
    {A::kRing, C::kAllGatherv, ringAllGather, ringGather, "(n-1) a + (n-1)/n S b", kFewBytes},
    {A::kRing, C::kReduceScatterv, ringReduceScatter, ringScatter, "(n-1) a + (n-1)/n S (b+g)",
     kFewBytes},
    {A::kTree, C::kAllReduce, treeAllReduce, treeBoth, "2 ceil(lg n) a + 2 S b + S g", kTrees},
    {A::kTree, C::kBroadcast, treeBroadcast, treeCopy, "ceil(lg n) a + S b", kTrees},
    {A::kTree, C::kReduce, treeReduce, treeSum, "ceil(lg n) a + S (b+g)", kTrees},
    {A::kHalvingDoubling, C::kAllReduce, halvingDoublingAllReduce, halveBoth,
     "2 lg n a + 2(n-1)/n S b + (n-1)/n S g; other n: "
     "(2 lg p + 2) a + (2(p-1)/p + 2) S b + ((p-1)/p + 1) S g",
     kHalves},
    {A::kHalvingDoubling, C::kAllGather, doublingAllGather, doubleGather, kDoubleText, kHalves},
    {A::kHalvingDoubling, C::kReduceScatter, halvingReduceScatter, halveScatter, kHalveText,
     kHalves},
    {A::kHalvingDoubling, C::kAllGatherv, doublingAllGather, doubleGather, kDoubleText, kHalves},
    {A::kHalvingDoubling, C::kReduceScatterv, halvingReduceScatter, halveScatter, kHalveText,
     kHalves},
    {A::kOneShot, C::kAllReduce, nullptr, pullSum, "a + (n-1) S (b+g)", kAtOnce},
    {A::kOneShot, C::kAllGather, nullptr, pullShare, kShareText, kAtOnce},
    {A::kOneShot, C::kReduceScatter, nullptr, pullShareSum, "a + (n-1)/n S (b+g)", kAtOnce},
    {A::kOneShot, C::kBroadcast, nullptr, pullWhole, "a + S b", kAtOnce},
    {A::kOneShot, C::kReduce, nullptr, pullSum, "a + (n-1) S (b+g)", kAtOnce},
    {A::kOneShot, C::kAllToAll, nullptr, pullShare, kShareText, kAtOnce},
    {A::kOneShot, C::kGather, nullptr, pullShare, kShareText, kAtOnce},
    {A::kOneShot, C::kScatter, nullptr, pullShare, kShareText, kAtOnce},
    {A::kOneShot, C::kAllToAllv, nullptr, pullShare, kShareText, kAtOnce},
    {A::kOneShot, C::kAllGatherv, nullptr, pullShare, kShareText, kAtOnce},
    {A::kOneShot, C::kReduceScatterv, nullptr, pullShareSum, "a + (n-1)/n S (b+g)", kAtOnce},
    {A::kOneShot, C::kSendRecv, nullptr, pullWhole, "a + S b", kAtOnce},
    {A::kTwoShot, C::kAllReduce, nullptr, dealtBoth, "2 a + 2(n-1)/n S b + (n-1)/n S g", kDealt},
    {A::kTwoShot, C::kAllGather, nullptr, dealtShare, kDealtText, kDealt},
    {A::kTwoShot, C::kReduceScatter, nullptr, dealtSum, "2 a + S b + (n-1)/n S g", kDealt},
    {A::kTwoShot, C::kBroadcast, nullptr, dealtShare, kDealtText, kDealt},
    {A::kTwoShot, C::kReduce, nullptr, dealtSum, "2 a + S b + (n-1)/n S g", kDealt},
    {A::kTwoShot, C::kAllToAll, nullptr, dealtShare, kDealtText, kDealt},
    {A::kTwoShot, C::kGather, nullptr, dealtShare, kDealtText, kDealt},
    {A::kTwoShot, C::kScatter, nullptr, dealtShare, kDealtText, kDealt},
    {A::kTwoShot, C::kAllToAllv, nullptr, dealtShare, kDealtText, kDealt},
    {A::kTwoShot, C::kAllGatherv, nullptr, dealtShare, kDealtText, kDealt},
    {A::kTwoShot, C::kReduceScatterv, nullptr, dealtSum, "2 a + S b + (n-1)/n S g", kDealt},
    {A::kTwoShot, C::kSendRecv, nullptr, pullWhole, "a + S b", kDealt},
};

}  // namespace

std::span<const CatalogRow> catalog() noexcept {
  return kRows;
}

const CatalogRow* findPlan(Algorithm algorithm, Collective collective) noexcept {
  for (const CatalogRow& row : kRows)
    if (row.algorithm == algorithm && row.collective == collective) return &row;
  return nullptr;
}

int widestMessage(Plan (*make)(Seat), int n, int root) {
  int widest = 1;
  for (int me = 0; me < n; ++me)
    for (const Flow& flow : make({me, n, root}).flows)
      for (const Step& s : flow.steps) widest = std::max({widest, s.send.count, s.recv.count});
  return widest;
}

}  // namespace autoccl
