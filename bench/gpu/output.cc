#include "output.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "base/error.h"
#include "bench/stats.h"

namespace autoccl::gpubench {
namespace {

double gbps(uint64_t bytes, double us) {
  return us > 0 ? static_cast<double>(bytes) / us / 1000 : 0;
}

/// NCCL's row of the same call, if there is one.
const Row* stockOf(const Results& results, const Row& row) {
  for (const Row& other : results.rows)
    if (other.contender == "nccl" && other.collective == row.collective &&
        other.bytes == row.bytes && other.compute == row.compute)
      return &other;
  return nullptr;
}

bench::RatioInterval gainOf(const Results& results, const Row& row) {
  const Row* stock = stockOf(results, row);
  if (stock == nullptr || stock->roundUs.size() != row.roundUs.size()) return {};
  return bench::ratioOverRounds(stock->roundUs, row.roundUs);
}

void printRow(const Results& results, const Row& row, int nRanks) {
  const double us = bench::median(row.roundUs), alg = gbps(row.bytes, us);
  const bench::RatioInterval gain = gainOf(results, row);
  std::printf("%-13s %10s  %-7s %10.2f %8.2f %8.2f  %5.2f [%.2f, %.2f]",
              toText(row.collective).data(), bytesText(row.bytes).c_str(), row.contender.c_str(),
              us, alg, alg * busFactor(row.collective, nRanks), gain.middle, gain.low, gain.high);
  if (row.compute != 0)
    std::printf("  alone %8.2f  product %8.1f us (alone %.1f)", row.aloneUs, row.productUs,
                row.productAloneUs);
  std::printf("  %s\n", row.config.c_str());
}

/// Geometric mean over all calls of NCCL's time over the best of ours that any memory may use.
void printMeans(const Results& results) {
  std::map<int, std::pair<double, int>> staged, any;
  for (const Row& stock : results.rows) {
    if (stock.contender != "nccl" || stock.roundUs.empty()) continue;
    double best = 0, bestAny = 0;
    for (const Row& row : results.rows) {
      if (row.contender == "nccl" || row.roundUs.empty() || row.collective != stock.collective ||
          row.bytes != stock.bytes || row.compute != stock.compute)
        continue;
      const double ratio = bench::median(stock.roundUs) / bench::median(row.roundUs);
      bestAny = std::max(bestAny, ratio);
      if (row.contender == "direct" || row.contender == "ce") best = std::max(best, ratio);
    }
    if (best > 0) staged[stock.compute].first += std::log(best), ++staged[stock.compute].second;
    if (bestAny > 0) any[stock.compute].first += std::log(bestAny), ++any[stock.compute].second;
  }
  for (const auto& [compute, sum] : staged)
    std::printf(
        "# geometric mean over %d calls%s: %.3f x NCCL with any memory, %.3f x with shared\n",
        sum.second, compute != 0 ? (" beside products of " + std::to_string(compute)).c_str() : "",
        std::exp(sum.first / sum.second), std::exp(any[compute].first / any[compute].second));
}

}  // namespace

void printTables(const Results& results, const Options& options, int nRanks) {
  std::printf("# %d ranks, %s, %s, NCCL %s\n", nRanks, results.device.c_str(),
              toText(options.dtype).data(), results.nccl.empty() ? "-" : results.nccl.c_str());
  const char* nvls = std::getenv("NCCL_NVLS_ENABLE");
  if (nvls != nullptr && *nvls == '0') std::printf("# NVLink multicast off: NCCL without NVLS\n");
  int compute = -1;
  for (const Row& row : results.rows) {
    if (row.compute != compute)
      std::printf("#\n# %-11s %10s  %-7s %10s %8s %8s  %s%s\n", "collective", "size", "way",
                  "time us", "algbw", "busbw", "x NCCL",
                  row.compute != 0 ? "  beside matrix products" : "");
    compute = row.compute;
    printRow(results, row, nRanks);
  }
  for (const Limit& limit : results.limits)
    std::printf("# copy to the next rank, all at once: %8s in %9.2f us, %.1f GB/s\n",
                bytesText(limit.bytes).c_str(), limit.us, gbps(limit.bytes, limit.us));
  printMeans(results);
}

void writeJson(const Results& results, const Options& options, int nRanks) {
  using Json = nlohmann::ordered_json;
  Json out;
  out["schema"] = "autoccl-gpu-bench-1";
  out["machine"] = options.machine;
  out["device"] = results.device;
  out["date"] = isoDate();
  out["nccl"] = results.nccl;
  out["ranks"] = nRanks;
  out["dtype"] = toText(options.dtype);
  out["rounds"] = options.rounds;
  for (const Row& row : results.rows) {
    const double us = bench::median(row.roundUs);
    const bench::RatioInterval gain = gainOf(results, row);
    Json one = {{"collective", toText(row.collective)},
                {"bytes", row.bytes},
                {"contender", row.contender},
                {"config", row.config},
                {"timeUs", us},
                {"lowUs", bench::quantile(row.roundUs, 0.25)},
                {"highUs", bench::quantile(row.roundUs, 0.75)},
                {"busGBps", gbps(row.bytes, us) * busFactor(row.collective, nRanks)},
                {"overNccl", {gain.low, gain.middle, gain.high}}};
    if (row.compute != 0) {
      one["compute"] = row.compute;
      one["aloneUs"] = row.aloneUs;
      one["productUs"] = row.productUs;
      one["productAloneUs"] = row.productAloneUs;
    }
    out["rows"].push_back(std::move(one));
  }
  for (const Limit& limit : results.limits)
    out["copies"].push_back({{"bytes", limit.bytes}, {"timeUs", limit.us}});
  for (const Point& p : results.points)
    out["points"].push_back({{"collective", toText(p.collective)},
                             {"bytes", p.bytes},
                             {"config", toText(p.config)},
                             {"timeUs", p.us}});
  std::ofstream file(options.json);
  file << out.dump(1) << "\n";
  if (!file) throw Error(ErrorCode::kSystem, "cannot write " + options.json);
}

}  // namespace autoccl::gpubench
