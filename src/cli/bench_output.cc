#include "cli/bench_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "report/text_table.h"

namespace autoccl::cli {
namespace {

using bench::BenchPlan;
using bench::BenchResult;
using bench::BenchRow;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  const int size = std::snprintf(nullptr, 0, pattern, values...);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern, values...);
  text.pop_back();
  return text;
}

const char* buffersText(bool registered) {
  return registered ? "registered" : "ordinary";
}

const BenchRow* find(const std::vector<BenchRow>& rows, const std::string& who, bool registered) {
  for (const BenchRow& r : rows)
    if (r.who == who && (!r.own || r.registered == registered)) return &r;
  return nullptr;
}

std::string block(const BenchRow* row, bool check, bool limits) {
  const std::string width(limits ? 46 : 39, ' ');
  if (!row || row->medianUs == 0) return width.substr(1) + "-";
  std::string text =
      format("  %10s %8.2f %8.2f %7s", figure(row->medianUs).c_str(), row->algbwGBps(),
             row->busbwGBps(), check ? std::to_string(row->wrong).c_str() : "n/a");
  if (limits) text += format(" %5.0f%%", 100 * row->shareOfLimit());
  return text;
}

std::string peerColumn(const BenchRow* ours, const BenchRow* peer, const std::string& name) {
  if (!peer || peer->medianUs == 0) return format("  %10s %7s", "-", "-");
  const auto ratio = ours ? ours->ratios.find(name)
                          : std::map<std::string, bench::RatioInterval>::const_iterator{};
  const bool known = ours && ratio != ours->ratios.end();
  return format("  %10s %6.2fx", figure(peer->medianUs).c_str(),
                known ? ratio->second.middle : 0.0);
}

Json ratioJson(const BenchRow& row) {
  Json ratios = Json::object();
  for (const auto& [who, r] : row.ratios)
    ratios.add(who, Json::object().add("low", r.low).add("middle", r.middle).add("high", r.high));
  return ratios;
}

Json rowJson(const BenchRow& row) {
  Json j = Json::object();
  j.add("engine", row.own ? "cpu" : row.who).add("who", row.who);
  j.add("collective", toText(row.collective)).add("ranks", row.ranks).add("bytes", row.bytes);
  j.add("config", row.config).add("buffers", buffersText(row.registered));
  j.add("compute", toText(row.load)).add("median_us", row.medianUs).add("p10_us", row.p10Us);
  j.add("p90_us", row.p90Us).add("algbw_GBps", row.algbwGBps()).add("busbw_GBps", row.busbwGBps());
  j.add("wrong", row.wrong).add("calls", row.calls).add("limit_us", row.limitUs);
  j.add("share_of_limit", row.shareOfLimit()).add("compute_gflops", row.loadGflops);
  j.add("ratios", ratioJson(row)).add("behind", row.behind()).add("remeasured", row.remeasured);
  j.add("note", row.note);
  return j;
}

Json gridJson(const bench::GridRow& row) {
  Json j = Json::object();
  j.add("collective", toText(row.collective)).add("ranks", row.ranks).add("bytes", row.bytes);
  j.add("buffers", buffersText(row.registered)).add("config", row.config);
  j.add("median_us", row.medianUs).add("p10_us", row.p10Us).add("p90_us", row.p90Us);
  return j;
}

}  // namespace

BenchTable::BenchTable(const BenchPlan& plan) : plan_(plan), own_{"default"} {
  if (plan.tuned) own_.push_back("tuned");
  if (plan.exhaustive) own_.push_back("exhaustive");
  if (!plan.pins.empty()) own_.push_back("pinned");
}

std::string BenchTable::head(const std::string& machine) const {
  std::string text = "# " + machine + "\n";
  text +=
      format("# engine cpu, %d ranks, float32 sum, medians of %d interleaved rounds, compute %s\n",
             plan_.ranks, plan_.rounds, std::string(toText(plan_.load)).c_str());
  if (plan_.limits)
    text += "# of lim: share of what this host's memory allows for the same bytes\n";
  if (!plan_.peers.empty())
    text += "# the x after a peer's time: peer / default, above 1 ours is faster\n";
  return text;
}

std::string BenchTable::columnHeads() const {
  std::string names = format("#%10s %11s %6s %5s %4s %-10s", "", "", "", "", "", "");
  std::string heads =
      format("#%10s %11s %6s %5s %4s %-10s", "size", "count", "type", "redop", "root", "buffers");
  std::string units = format("#%10s %11s %6s %5s %4s %-10s", "(B)", "(elements)", "", "", "", "");
  for (const std::string& who : own_) {
    names += format("  %-*s", plan_.limits ? 43 : 36, ("-- " + who + " --").c_str());
    heads += format("  %10s %8s %8s %7s", "time", "algbw", "busbw", "#wrong");
    units += format("  %10s %8s %8s %7s", "(us)", "(GB/s)", "(GB/s)", "");
    if (plan_.limits) heads += format(" %6s", "of lim"), units += format(" %6s", "");
  }
  for (const std::string& peer : plan_.peers) {
    names += format("  %-18s", ("-- " + peer + " --").c_str());
    heads += format("  %10s %7s", "time", "");
    units += format("  %10s %7s", "(us)", "");
  }
  return names + "\n" + heads + "\n" + units + "\n";
}

std::string BenchTable::lines(const std::vector<BenchRow>& rows) {
  std::string text;
  if (!started_ || rows.front().collective != last_) {
    text += "#\n# " + std::string(toText(rows.front().collective)) + "\n" + columnHeads();
    started_ = true;
    last_ = rows.front().collective;
  }
  for (const bool registered : plan_.registered) text += line(rows, registered);
  for (const BenchRow& r : rows)
    if (!r.note.empty())
      text += "#   " + r.who + ", " + buffersText(r.registered) + ": " + r.note + "\n";
  return text;
}

std::string BenchTable::line(const std::vector<BenchRow>& rows, bool registered) const {
  const BenchRow& any = rows.front();
  std::string text =
      format(" %10llu %11llu %6s %5s %4s %-10s", static_cast<unsigned long long>(any.bytes),
             static_cast<unsigned long long>(any.bytes / sizeof(float)), "float",
             reduces(any.collective) ? "sum" : "none", rooted(any.collective) ? "0" : "-1",
             buffersText(registered));
  for (const std::string& who : own_)
    text += block(find(rows, who, registered), plan_.check, plan_.limits);
  const BenchRow* ours = find(rows, "default", registered);
  for (const std::string& peer : plan_.peers)
    text += peerColumn(ours, find(rows, peer, registered), peer);
  return text + "\n";
}

double geometricRatio(const std::vector<BenchRow>& rows, const std::string& who, bool registered,
                      const std::string& peer) {
  double logs = 0;
  int n = 0;
  for (const BenchRow& r : rows) {
    const auto ratio = r.ratios.find(peer);
    if (!r.own || r.who != who || r.registered != registered || ratio == r.ratios.end()) continue;
    logs += std::log(ratio->second.middle);
    ++n;
  }
  return n == 0 ? 0 : std::exp(logs / n);
}

std::string BenchTable::foot(const BenchResult& result) const {
  std::string text = "#\n";
  for (const std::string& who : own_)
    for (const bool registered : plan_.registered) {
      std::vector<std::string> others = plan_.peers;
      if (who != "default") others.insert(others.begin(), "default");
      for (const std::string& other : others)
        if (const double r = geometricRatio(result.rows, who, registered, other); r > 0)
          text += format("# %s, %s: %.2fx as fast as %s (geometric mean)\n", who.c_str(),
                         buffersText(registered), r, other.c_str());
    }
  uint64_t wrong = 0;
  for (const BenchRow& r : result.rows) wrong += r.wrong;
  text += plan_.check ? "# wrong elements: " + std::to_string(wrong) + "\n"
                      : std::string("# results were not checked (--check)\n");
  for (const BenchRow& r : result.rows)
    if (r.behind())
      text += "# behind a peer: " + std::string(toText(r.collective)) + " " +
              std::to_string(r.bytes) + " B, " + r.who + ", " + buffersText(r.registered) + "\n";
  for (const std::string& note : result.startNotes) text += "# not measured: " + note + "\n";
  return text;
}

Json benchDocument(const BenchPlan& plan, const BenchResult& result, const std::string& machine,
                   const std::string& date) {
  Json rows = Json::list();
  for (const BenchRow& row : result.rows) rows.add(rowJson(row));
  Json grid = Json::list();
  for (const bench::GridRow& row : result.grid) grid.add(gridJson(row));
  Json notes = Json::list();
  for (const std::string& note : result.startNotes) notes.add(note);
  Json j = Json::object();
  j.add("schema", "autoccl-bench/1").add("machine", machine).add("date", date);
  j.add("library", "autoccl " AUTOCCL_VERSION).add("dtype", "float32").add("op", "sum");
  j.add("rounds", plan.rounds).add("checked", plan.check).add("hand_over_us", result.handOverUs);
  j.add("notes", std::move(notes)).add("rows", std::move(rows)).add("grid", std::move(grid));
  return j;
}

}  // namespace autoccl::cli
