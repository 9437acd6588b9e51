#include "report/bandwidth_advice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model/config.h"
#include "report/text_table.h"

namespace autoccl {
namespace {

using nccl::BenchRow;
using nccl::BenchTable;

constexpr double kDip = 0.7, kCliff = 0.6, kLargestError = 0.01;

std::string at(const BenchTable& table, const BenchRow& row) {
  return table.file + ":" + std::to_string(row.line);
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

uint64_t wholeBytes(double bytes) {
  constexpr double kMost = 9e18;  // tables of nonsense give lines of nonsense
  return static_cast<uint64_t>(std::clamp(bytes, 0.0, kMost));
}

void wrongResults(const BenchTable& t, std::vector<Finding>& out) {
  for (const BenchRow& row : t.rows) {
    const double worst = std::max(row.out.wrong, row.in.wrong);
    const bool wrong = t.countsWrong ? worst > 0 : worst > kLargestError;
    if (!wrong) continue;
    out.push_back(
        {at(t, row),
         "wrong results at " + bytesText(row.bytes) + ": " + amount(worst) +
             (t.countsWrong ? " elements" : " is the largest error"),
         "the bandwidth may look right: the data is not",
         "take back the last setting (NCCL_NTHREADS, NCCL_BUFFSIZE, NCCL_PROTO=LL128) and "
         "measure again with checks on",
         "bandwidth-wrong"});
  }
}

/// A row between two better ones, and a fall that does not come back.
void dipsAndCliffs(const BenchTable& t, std::vector<Finding>& out) {
  for (size_t i = 1; i + 1 < t.rows.size(); ++i) {
    const double before = t.rows[i - 1].busbw(), here = t.rows[i].busbw(),
                 after = t.rows[i + 1].busbw();
    if (here >= kDip * std::min(before, after)) continue;
    out.push_back(
        {at(t, t.rows[i]),
         "busbw dips to " + amount(here) + " GB/s at " + bytesText(t.rows[i].bytes) + ", between " +
             amount(before) + " and " + amount(after),
         "the library changes its algorithm, protocol or channels at this size, too early",
         "tune this size first: autoccl tune --sizes " + bytesText(t.rows[i].bytes) +
             ", or look at its chunk, channels and protocol",
         "bandwidth-dip"});
  }
  double best = 0;
  for (size_t i = 0; i < t.rows.size(); ++i) {
    const auto later = std::ranges::max_element(t.rows.begin() + static_cast<long>(i), t.rows.end(),
                                                {}, &BenchRow::busbw);
    if (i > 0 && i + 1 < t.rows.size() && later->busbw() < kCliff * best) {
      out.push_back({at(t, t.rows[i]),
                     "busbw falls from " + amount(best) + " to " + amount(t.rows[i].busbw()) +
                         " GB/s at " + bytesText(t.rows[i].bytes) + " and stays there",
                     "from this size on another path is taken",
                     "compare the choices on both sides: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING",
                     "bandwidth-cliff"});
      return;
    }
    best = std::max(best, t.rows[i].busbw());
  }
}

void belowLimit(const BenchTable& t, const BandwidthQuestion& q, std::vector<Finding>& out) {
  if (q.limitGBps <= 0 || t.rows.empty()) return;
  const BenchRow& best = *std::ranges::max_element(t.rows, {}, &BenchRow::busbw);
  const double share = best.busbw() / q.limitGBps;
  if (share >= q.enough) return;
  out.push_back({at(t, best),
                 "the best busbw is " + amount(best.busbw()) + " GB/s, " + percent(share) +
                     " of the path's " + amount(q.limitGBps),
                 "the algorithm, the protocol or the path is not the right one",
                 q.candidates.empty()
                     ? "try other algorithms and protocols: autoccl tune, or run the job "
                       "under autoccl run"
                     : "by the model next: " + q.candidates,
                 "bandwidth-below-limit"});
}

/// Messages below the half-bandwidth size: what sending several at once would give.
void smallMessages(const BenchTable& t, const BandwidthQuestion& q, std::vector<Finding>& out) {
  const auto fit = fitOf(t);
  if (!fit || q.messageBytes == 0) return;
  const auto m = static_cast<double>(q.messageBytes);
  if (m >= fit->halfBytes) return;
  const double wanted = 4 * fit->halfBytes;  // 80 % of the bandwidth
  const double together = std::ceil(wanted / m - 0.01);
  const double gain = together * fit->us(m) / fit->us(together * m);
  out.push_back(
      {t.file,
       "messages of " + bytesText(q.messageBytes) + " are below the half-bandwidth size, " +
           bytesText(wholeBytes(fit->halfBytes)),
       "each pays " + amount(fit->alphaUs) +
           " us before its bytes flow: " + percent(m / (m + fit->halfBytes)) + " of the bandwidth",
       "send " + amount(together) + " of them as one (buckets, chunks, groups): " + amount(gain) +
           "x by this table's alpha and bandwidth",
       "bandwidth-small-messages"});
}

void average(const BenchTable& t, std::vector<Finding>& out) {
  if (t.statedAverage <= 0 || t.rows.empty()) return;
  double sum = 0, halves = 0;
  for (const BenchRow& row : t.rows)
    for (const auto* half : {&row.out, &row.in})
      if (half->us > 0) {
        sum += half->busbw;
        ++halves;
      }
  halves += static_cast<double>(2 * t.zeroRows);
  const double mine = halves > 0 ? sum / halves : 0;
  if (mine <= 0 || std::fabs(mine / t.statedAverage - 1) < 0.02) return;
  out.push_back(
      {t.file,
       "the stated average is " + amount(t.statedAverage) + " GB/s, the rows give " + amount(mine),
       "rows are missing or from another run", "give the whole output of one run",
       "bandwidth-average"});
}

double ringShare(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

}  // namespace

std::optional<TableFit> fitOf(const BenchTable& table) {
  // Minimises sum ((alpha + b n)/t - 1)^2 over alpha and b.
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  int points = 0;
  for (const BenchRow& row : table.rows) {
    const double t = row.us(), n = static_cast<double>(row.bytes);
    if (t <= 0) continue;
    aa += 1 / t / t;
    ab += n / t / t;
    bb += n * n / t / t;
    a1 += 1 / t;
    b1 += n / t;
    ++points;
  }
  const double det = aa * bb - ab * ab;
  if (points < 3 || det <= 0) return std::nullopt;
  TableFit fit;
  fit.alphaUs = std::max(0.0, (a1 * bb - b1 * ab) / det);
  const double perByte = fit.alphaUs > 0 ? (b1 * aa - a1 * ab) / det : b1 / bb;
  if (perByte <= 0) return std::nullopt;
  fit.GBps = 1e-3 / perByte;
  fit.halfBytes = fit.alphaUs / perByte;
  return fit;
}

std::vector<Finding> tableFindings(const BenchTable& table, const BandwidthQuestion& question) {
  std::vector<Finding> out;
  wrongResults(table, out);
  dipsAndCliffs(table, out);
  belowLimit(table, question, out);
  smallMessages(table, question, out);
  average(table, out);
  return out;
}

std::optional<Finding> scalingFinding(const BenchTable& a, const BenchTable& b) {
  const bool swap = a.ranks > b.ranks;
  const BenchTable &small = swap ? b : a, &large = swap ? a : b;
  if (small.ranks < 2 || large.ranks <= small.ranks) return std::nullopt;
  const BenchRow *s = nullptr, *l = nullptr;
  for (const BenchRow& row : small.rows)
    for (const BenchRow& other : large.rows)
      if (row.bytes == other.bytes && row.type == other.type) s = &row, l = &other;
  if (s == nullptr || s->us() <= 0 || l->us() < 1.1 * s->us()) return std::nullopt;
  const double bytes = ringShare(large.ranks) / ringShare(small.ranks);
  const bool leaves = large.hosts > 1 && small.hosts == 1;
  const double g = leaves ? static_cast<double>(large.ranks) / large.hosts : small.ranks;
  const double k = large.ranks / g, n = static_cast<double>(l->bytes);
  const double inside = s->busbw() * 1000, across = l->busbw() * 1000;  // bytes/us
  const double grouped = ringShare(static_cast<int>(g)) * n / inside;
  const double twoWays = grouped + 2 * (k - 1) / k * n / across;
  std::string fix = "reduce in groups of " + amount(g) +
                    " ranks where the model allows it: " + amount(grouped / 1000) +
                    " ms by this table";
  fix += "; in two dimensions (inside, along the rails, inside) " + amount(twoWays / 1000) +
         " ms and " + amount(2 * (g - 1) + 2 * (k - 1)) + " steps instead of " +
         std::to_string(2 * (large.ranks - 1));
  return Finding{at(large, *l),
                 bytesText(l->bytes) + " takes " + amount(l->us() / 1000) + " ms on " +
                     std::to_string(large.ranks) + " ranks, " + amount(s->us() / 1000) + " ms on " +
                     std::to_string(small.ranks) + " (" + at(small, *s) + ")",
                 "a ring moves only " + amount(bytes) + "x the bytes, in " +
                     std::to_string(2 * (large.ranks - 1)) + " steps instead of " +
                     std::to_string(2 * (small.ranks - 1)) + ": the bus bandwidth " +
                     (leaves ? "between hosts " : "") + "is " + amount(across / 1000) +
                     " GB/s where " + (leaves ? "inside a host " : "the smaller job has ") +
                     amount(inside / 1000) + " flow",
                 fix, "bandwidth-scaling"};
}

}  // namespace autoccl
