#include "bench/run.h"

#include <algorithm>

#include "base/error.h"
#include "bench/exhaustive.h"
#include "bench/limit.h"
#include "bench/peers.h"
#include "bench/worker.h"
#include "model/config.h"

namespace autoccl::bench {
namespace {

constexpr double kTimeoutS = 60;
constexpr const char* kLimit = "limit";

/// A contender and how its row is called. Several with one `who` and kind of buffer are one row:
/// the best.
struct Entry {
  Contender contender;
  bool own = false;
  std::string note;
};

struct Point {
  Collective collective;
  uint64_t bytes;
};

class Run {
 public:
  Run(const BenchPlan& plan, const Listener& listener)
      : plan_(plan), listener_(listener), cores_(static_cast<int>(allowedCores().size())) {
    own_ = std::make_unique<Group>(ownGroup(), plan.ranks, cores_);
    if (plan.limits) limit_ = std::make_unique<Group>(limitGroup(), plan.ranks, cores_);
    for (const std::string& name : plan.peers) startPeer(name);
    if (limit_ && plan.ranks > 1) result_.handOverUs = measureHandOver();
  }

  BenchResult all() {
    for (const Collective c : plan_.collectives)
      for (const uint64_t size : plan_.sizes) {
        const uint64_t unit = sizeof(float) * static_cast<uint64_t>(plan_.ranks);
        measure({c, std::max(unit, size / unit * unit)});
      }
    return std::move(result_);
  }

 private:
  void startPeer(const std::string& name) {
    listener_.doing("starting " + name);
    try {
      peers_.push_back(std::make_unique<Group>(peerGroup(name, plan_.ranks), plan_.ranks, cores_));
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kUsage) throw;
      result_.startNotes.push_back(e.what());
    }
  }

  Exercise exerciseFor(const Point& p) const {
    return {p.collective, p.bytes, plan_.load, plan_.check, plan_.rounds, plan_.roundMs};
  }

  double measureHandOver() {
    const Contender passing{kLimit, limit_.get(), true, "", false};
    Exercise exercise{Collective::kBarrier,
                      sizeof(float) * static_cast<uint64_t>(plan_.ranks),
                      LoadKind::kNone,
                      false,
                      5,
                      5};
    const std::vector<Series> series = measureInterleaved(exercise, {&passing, 1});
    return median(series[0].us) / kHandOvers;
  }

  void measure(const Point& p) {
    const std::vector<Entry> entries = entriesFor(p);
    listener_.doing(describe(p));
    std::vector<BenchRow> rows = rowsOf(p, entries);
    if (std::any_of(rows.begin(), rows.end(), [](const BenchRow& r) { return r.behind(); })) {
      listener_.doing(describe(p) + " again: behind a peer");
      rows = rowsOf(p, entries);
      for (BenchRow& r : rows) r.remeasured = true;
    }
    listener_.point(rows);
    result_.rows.insert(result_.rows.end(), rows.begin(), rows.end());
  }

  static std::string describe(const Point& p) {
    return std::string(toText(p.collective)) + " " + bytesText(p.bytes);
  }

  std::vector<Entry> entriesFor(const Point& p) {
    std::vector<Entry> entries;
    for (const bool registered : plan_.registered) {
      const auto add = [&](const char* who, const std::string& config, const std::string& note) {
        entries.push_back({{who, own_.get(), registered, config, false}, true, note});
      };
      add("default", "", "");
      if (plan_.tuned) {
        const auto [config, note] = tune(p, registered);
        add("tuned", config, note);
      }
      if (plan_.exhaustive) add("exhaustive", bestOfGrid(p, registered), "");
      for (const Pin& pin : plan_.pins)
        if (pin.collective.value_or(p.collective) == p.collective &&
            pin.bytes.value_or(p.bytes) == p.bytes)
          add("pinned", pin.config, "");
    }
    for (const auto& group : peers_)
      for (const PeerConfig& c : peerConfigs(group->name(), p.collective))
        entries.push_back(
            {{group->name(), group.get(), false, c.config, c.sleepyBarrier}, false, ""});
    if (limit_)
      for (const char* how : {"plain", "nt", "one"})
        entries.push_back({{kLimit, limit_.get(), true, how, false}, false, ""});
    return entries;
  }

  /// The config that the tuner ends with, and what to know of it.
  std::pair<std::string, std::string> tune(const Point& p, bool registered) {
    listener_.doing(describe(p) + " tuning");
    Command command;
    command.kind = CommandKind::kTune;
    command.collective = p.collective;
    command.bytes = p.bytes;
    command.load = plan_.load;
    command.registered = registered;
    command.iterations = plan_.tuneCalls;
    command.maxMs = static_cast<uint32_t>(plan_.tuneSeconds * 1000);
    const GroupReply reply = own_->run(command, plan_.tuneSeconds + kTimeoutS);
    if (!reply.error.empty()) throw Error(ErrorCode::kRemote, "bench: tuning, " + reply.error);
    if (reply.tuned) return {reply.config, ""};
    return {"", "not converged within " + std::to_string(plan_.tuneCalls) + " calls and " +
                    std::to_string(static_cast<int>(plan_.tuneSeconds)) + " s: the default"};
  }

  std::string bestOfGrid(const Point& p, bool registered) {
    const std::vector<std::string> configs = thinned(own_->space(p.collective, p.bytes));
    listener_.doing(describe(p) + " exhaustive over " + std::to_string(configs.size()) +
                    " configs");
    const auto points = searchGrid(exerciseFor(p), *own_, registered, configs);
    for (const GridPoint& g : points)
      result_.grid.push_back({p.collective, plan_.ranks, p.bytes, registered, g.config,
                              median(g.us), quantile(g.us, 0.1), quantile(g.us, 0.9)});
    return points.empty() ? "" : points.front().config;
  }

  std::vector<BenchRow> rowsOf(const Point& p, const std::vector<Entry>& entries) {
    std::vector<Contender> contenders;
    contenders.reserve(entries.size());
    for (const Entry& e : entries) contenders.push_back(e.contender);
    const std::vector<Series> series = measureInterleaved(exerciseFor(p), contenders);
    double limitUs = 0;
    std::vector<size_t> chosen;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Contender& c = entries[i].contender;
      if (entries[i].own && c.who != "pinned" && !series[i].error.empty())
        throw Error(ErrorCode::kRemote,
                    "bench: " + describe(p) + ", " + c.who + ", " + series[i].error);
      if (c.who == kLimit) {
        const double us = median(series[i].us);
        limitUs = limitUs == 0 ? us : std::min(limitUs, us);
      } else if (!entries[i].own && !chosen.empty() &&
                 entries[chosen.back()].contender.who == c.who) {
        if (fasterThan(series[i], series[chosen.back()])) chosen.back() = i;
      } else {
        chosen.push_back(i);
      }
    }
    if (limitUs > 0 && plan_.ranks > 1) limitUs = std::max(limitUs, 2 * result_.handOverUs);
    std::vector<BenchRow> rows;
    rows.reserve(chosen.size());
    for (const size_t i : chosen) rows.push_back(rowOf(p, entries[i], series[i], limitUs));
    for (size_t a = 0; a < chosen.size(); ++a)
      for (size_t b = 0; b < chosen.size(); ++b)
        if (rows[a].own && compares(rows[a], rows[b]))
          rows[a].ratios[rows[b].who] =
              ratioOverRounds(series[chosen[b]].rounds, series[chosen[a]].rounds);
    return rows;
  }

  static bool fasterThan(const Series& a, const Series& b) {
    if (!a.error.empty()) return false;
    return !b.error.empty() || median(a.us) < median(b.us);
  }
  static bool compares(const BenchRow& ours, const BenchRow& other) {
    if (other.medianUs == 0 || &ours == &other) return false;
    return !other.own || (other.who == "default" && other.registered == ours.registered);
  }

  static std::string noteFor(const Entry& entry, const Series& series) {
    if (!series.error.empty()) return series.error;
    const std::string& asked = entry.contender.config;
    if (!entry.own || asked.empty() || asked == series.config) return entry.note;
    return "asked for " + asked + ", ran " + series.config;
  }

  BenchRow rowOf(const Point& p, const Entry& entry, const Series& series, double limitUs) const {
    BenchRow row;
    row.who = entry.contender.who;
    row.own = entry.own;
    row.collective = p.collective;
    row.ranks = plan_.ranks;
    row.bytes = p.bytes;
    row.registered = entry.contender.registered;
    row.load = plan_.load;
    row.config = series.config;
    row.note = noteFor(entry, series);
    row.limitUs = limitUs;
    if (!series.error.empty()) return row;
    row.medianUs = median(series.us);
    row.p10Us = quantile(series.us, 0.1);
    row.p90Us = quantile(series.us, 0.9);
    row.calls = series.us.size();
    row.wrong = series.wrong;
    row.loadGflops = series.loadGflops;
    return row;
  }

  const BenchPlan& plan_;
  const Listener& listener_;
  int cores_;
  std::unique_ptr<Group> own_;
  std::unique_ptr<Group> limit_;
  std::vector<std::unique_ptr<Group>> peers_;
  BenchResult result_;
};

}  // namespace

double BenchRow::algbwGBps() const {
  return medianUs > 0 ? static_cast<double>(bytes) / medianUs / 1e3 : 0;
}

double BenchRow::busbwGBps() const {
  return algbwGBps() * busFactor(collective, ranks);
}

double BenchRow::shareOfLimit() const {
  return medianUs > 0 ? limitUs / medianUs : 0;
}

bool BenchRow::behind() const {
  return std::any_of(ratios.begin(), ratios.end(),
                     [](const auto& r) { return r.first != "default" && r.second.high < kBehind; });
}

BenchResult runBench(const BenchPlan& plan, const Listener& listener) {
  return Run(plan, listener).all();
}

}  // namespace autoccl::bench
