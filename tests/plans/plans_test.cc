// Every plan of the catalog on the fake wire: right results, and the counts that its formula says.
#include <gtest/gtest.h>

#include <fstream>
#include <iomanip>
#include <numeric>
#include <random>
#include <sstream>

#include "plan/catalog.h"
#include "plan/tree.h"
#include "plan_on_fake.h"

namespace autoccl {
namespace {

using Words = std::vector<uint64_t>;

constexpr int kMostRanks = 33;

// What rank r contributes as element i: random enough that a lost or doubled term always shows.
uint64_t input(int rank, size_t i) {
  uint64_t x = (static_cast<uint64_t>(rank) << 32 | i) * 0x9e3779b97f4a7c15 + 0x1234567;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 29);
}

// All ranks' arguments and inputs of one call, and the outputs by definition.
struct Call {
  std::vector<CallShape> shapes;
  std::vector<size_t> counts, displs;
  std::vector<std::vector<size_t>> pairs[4];  // sendCounts, sendDispls, recvCounts, recvDispls
  std::vector<AllToAllvRow> rows;
  std::vector<Words> send, want;
};

void resize(Call& c, int n, const std::vector<size_t>& sendLength,
            const std::vector<size_t>& recvLength) {
  for (int r = 0; r < n; ++r) {
    Words words(sendLength[size_t(r)]);
    for (size_t i = 0; i < words.size(); ++i) words[i] = input(r, i);
    c.send.push_back(std::move(words));
    c.want.emplace_back(recvLength[size_t(r)], kUntouched);
  }
}

uint64_t sum(const Call& c, size_t i) {
  uint64_t total = 0;
  for (const Words& s : c.send) total += s[i];
  return total;
}

// counts: elements of each rank's block (all alike for the even forms), or of the whole in [0].
void makeEven(Call& c, Collective collective, int n, int root, const std::vector<size_t>& counts) {
  const size_t total = std::accumulate(counts.begin(), counts.end(), size_t{0});
  const std::vector<size_t> all(size_t(n), total), whole(size_t(n), counts[0]);
  size_t at = 0;
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kAllGatherv:
      resize(c, n, counts, all);
      for (size_t r = 0; r < size_t(n); ++r)
        for (size_t i = 0; i < counts[r]; ++i, ++at)
          for (Words& w : c.want) w[at] = c.send[r][i];
      return;
    case Collective::kReduceScatter:
    case Collective::kReduceScatterv:
      resize(c, n, all, counts);
      for (Words& w : c.want)
        for (uint64_t& x : w) x = sum(c, at++);
      return;
    case Collective::kAllToAll:
      resize(c, n, all, all);
      for (size_t r = 0; r < size_t(n); ++r)
        for (size_t i = 0; i < total; ++i)
          c.want[r][i] = c.send[i / counts[0]][r * counts[0] + i % counts[0]];
      return;
    default:
      resize(c, n, whole, whole);
      for (size_t i = 0; i < counts[0]; ++i)
        for (int r = 0; r < n; ++r) {
          uint64_t& x = c.want[size_t(r)][i];
          if (collective == Collective::kBroadcast) x = c.send[size_t(root)][i];
          if (collective == Collective::kAllReduce) x = sum(c, i);
          if (collective == Collective::kReduce && r == root) x = sum(c, i);
        }
  }
}

void makePairs(Call& c, int n, const std::vector<size_t>& counts) {
  const auto nn = size_t(n);
  for (auto& p : c.pairs) p.assign(nn, std::vector<size_t>(nn));
  std::vector<size_t> sendLength(nn), recvLength(nn);
  for (size_t r = 0; r < nn; ++r)
    for (size_t q = 0; q < nn; ++q) {
      c.pairs[0][r][q] = c.pairs[2][q][r] = counts[(r * 7 + q * 3) % nn];
      c.pairs[1][r][q] = sendLength[r];
      sendLength[r] += c.pairs[0][r][q];
    }
  for (size_t q = 0; q < nn; ++q)
    for (size_t r = 0; r < nn; ++r) {
      c.pairs[3][q][r] = recvLength[q];
      recvLength[q] += c.pairs[2][q][r];
    }
  resize(c, n, sendLength, recvLength);
  for (size_t r = 0; r < nn; ++r)
    for (size_t q = 0; q < nn; ++q)
      for (size_t i = 0; i < c.pairs[0][r][q]; ++i)
        c.want[q][c.pairs[3][q][r] + i] = c.send[r][c.pairs[1][r][q] + i];
  for (size_t r = 0; r < nn; ++r)
    c.rows.push_back(
        {c.pairs[0][r].data(), c.pairs[1][r].data(), c.pairs[2][r].data(), c.pairs[3][r].data()});
}

// The shapes point into `c`, which must stay where it is.
void make(Call& c, Collective collective, int n, int root, const std::vector<size_t>& counts) {
  c.counts = counts;
  c.displs.assign(size_t(n), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, c.displs.begin() + 1);
  if (collective == Collective::kAllToAllv)
    makePairs(c, n, counts);
  else
    makeEven(c, collective, n, root, counts);
  CallShape shape{collective, n, root, 0, counts[0] * 8, 8};
  shape.counts = c.counts.data();
  shape.displs = c.displs.data();
  shape.rows = c.rows.data();
  c.shapes.assign(size_t(n), shape);
}

FakeRun run(const CatalogRow& row, const Call& c, const FakeOptions& options = {}) {
  std::vector<size_t> lengths;
  for (const Words& w : c.want) lengths.push_back(w.size());
  return runOnFakeWire(row.make, c.shapes, c.send, lengths, options);
}

std::string label(const CatalogRow& row, int n) {
  return std::string(toText(row.algorithm)) + " " + std::string(toText(row.collective)) +
         " n=" + std::to_string(n);
}

std::vector<size_t> unevenCounts(int n, std::mt19937_64& random) {
  std::vector<size_t> counts;
  for (int i = 0; i < n; ++i) counts.push_back(random() % 3 ? random() % 9 : 0);
  return counts;
}

TEST(Plans, InLockStepEveryRankEndsWithTheRightResult) {
  std::mt19937_64 random(3);
  for (const CatalogRow& row : catalog())
    for (int n = 1; row.make && n <= kMostRanks; ++n)
      for (const size_t count : {size_t(0), size_t(1), size_t(n) * 3 + 2}) {
        Call c;
        make(c, row.collective, n, int(random() % uint64_t(n)),
             uneven(row.collective) ? unevenCounts(n, random) : std::vector(size_t(n), count));
        const FakeRun got = run(row, c);
        ASSERT_EQ(got.fault, "") << label(row, n) << " count " << count;
        ASSERT_EQ(got.recv, c.want) << label(row, n) << " count " << count;
      }
}

TEST(Plans, AnyOrderAndAQueueOfOneMessageGiveTheSameWithoutDeadlock) {
  std::mt19937_64 random(4);
  for (const CatalogRow& row : catalog())
    for (int n = 2; row.make && n <= 17; n += n < 9 ? 1 : 4)
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        Call c;
        make(c, row.collective, n, int(random() % uint64_t(n)),
             uneven(row.collective) ? unevenCounts(n, random) : std::vector(size_t(n), size_t(29)));
        const FakeRun got = run(row, c, {int(seed) * 2 - 1, seed == 3 ? 4u : 1u, seed});
        ASSERT_EQ(got.fault, "") << label(row, n);
        ASSERT_EQ(got.recv, c.want) << label(row, n);
      }
}

// Units of nBytes that divide by every split of the plans of n ranks.
size_t evenCount(Collective collective, int n) {
  const bool blocks = collective != Collective::kAllReduce &&
                      collective != Collective::kBroadcast && collective != Collective::kReduce;
  const int p = 1 << (31 - __builtin_clz(unsigned(n)));
  return blocks ? 3 : size_t(8 * n * p);  // parts end on cache lines
}

// What the cost's `moved` counts: chains and trees are pipelined, so their two directions overlap.
uint64_t movedWords(const CatalogRow& row, const FakeRun& got) {
  const bool pipelined = row.algorithm == Algorithm::kTree || rooted(row.collective);
  return pipelined ? std::max(got.sent, got.received) : got.serial;
}

bool folds(const CatalogRow& row, int n) {
  return row.algorithm == Algorithm::kHalvingDoubling && (n & (n - 1)) != 0;
}

TEST(Plans, StepsBytesAndDepthAreThoseOfTheFormula) {
  for (const CatalogRow& row : catalog())
    for (int n = 2; row.make && n <= kMostRanks; ++n) {
      Call c;
      make(c, row.collective, n, n / 2, std::vector(size_t(n), evenCount(row.collective, n)));
      const FakeRun got = run(row, c);
      const CostTerms cost = row.cost(n);
      const double nBytes = double(std::max(c.send[0].size(), c.want[0].size()));
      const double moved = double(movedWords(row, got)) / nBytes;
      const double reduced = double(got.reduced) / nBytes;
      EXPECT_LE(got.depth, cost.steps) << label(row, n);
      EXPECT_LE(moved, cost.moved + 1e-9) << label(row, n);
      EXPECT_LE(reduced, cost.reduced + 1e-9) << label(row, n);
      if (folds(row, n)) continue;  // there ranks carry one share or two: the formula is a bound
      EXPECT_EQ(got.depth, cost.steps) << label(row, n);
      EXPECT_NEAR(moved, cost.moved, 1e-9) << label(row, n);
      EXPECT_NEAR(reduced, cost.reduced, 1e-9) << label(row, n);
    }
}

TEST(Plans, ARingSendsTwiceNMinusOneNthsInAsManySteps) {
  for (int n = 2; n <= kMostRanks; ++n) {
    Call c;
    make(c, Collective::kAllReduce, n, 0, std::vector(size_t(n), size_t(5 * n)));
    const FakeRun got = run(*findPlan(Algorithm::kRing, Collective::kAllReduce), c);
    EXPECT_EQ(got.steps, uint64_t(2 * (n - 1)));
    EXPECT_EQ(got.depth, 2 * (n - 1));
    EXPECT_EQ(got.sent, uint64_t(2 * (n - 1) * 5));
    EXPECT_EQ(got.received, got.sent);
  }
}

// The table of docs/plans.md: formula beside what the fake wire counted.
std::string measuredTable() {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  out << "| algorithm | collective | cost | 4 ranks | 8 ranks | 33 ranks |\n"
      << "|---|---|---|---|---|---|\n";
  for (const CatalogRow& row : catalog()) {
    if (!row.make) continue;
    out << "| " << toText(row.algorithm) << " | " << toText(row.collective) << " | " << row.formula
        << " |";
    for (const int n : {4, 8, 33}) {
      Call c;
      make(c, row.collective, n, 0, std::vector(size_t(n), evenCount(row.collective, n)));
      const FakeRun got = run(row, c);
      const auto nBytes = double(std::max(c.send[0].size(), c.want[0].size()));
      out << ' ' << got.depth << ", " << double(movedWords(row, got)) / nBytes << ", "
          << double(got.reduced) / nBytes << " |";
    }
    out << "\n";
  }
  return out.str();
}

TEST(Plans, TheTableInTheDocumentsIsWhatTheFakeWireCounts) {
  std::ifstream file(AUTOCCL_SOURCE_DIR "/docs/plans.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(measuredTable()), std::string::npos)
      << "docs/plans.md should hold this table:\n"
      << measuredTable();
}

}  // namespace
}  // namespace autoccl
