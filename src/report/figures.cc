#include "report/figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace autoccl {
namespace {

using FitKey = std::tuple<Collective, int, Algorithm>;
using BestBySize = std::map<uint64_t, double>;

void offer(BestBySize& best, uint64_t bytes, double us) {
  if (us <= 0 || bytes == 0) return;
  const auto [at, isNew] = best.emplace(bytes, us);
  if (!isNew) at->second = std::min(at->second, us);
}

std::map<FitKey, BestBySize> bestTimes(const RunRecord& record) {
  std::map<FitKey, BestBySize> all;
  for (const TaskRecord& t : record.tasks) {
    const auto at = [&](const Config& c) -> BestBySize& {
      return all[{t.task.collective, t.task.nRanks, c.algorithm}];
    };
    offer(at(t.defaultConfig), t.task.bytes, t.defaultUs);
    offer(at(t.config), t.task.bytes, t.tunedUs);
    for (const HistoryEntry& h : t.history) offer(at(h.config), t.task.bytes, h.medianUs);
  }
  return all;
}

/// Minimises the sum of ((a + b x - t) / t)^2 over a >= 0, b >= 0.
void fitLine(const BestBySize& points, double& a, double& b) {
  double s = 0, sx = 0, sxx = 0, st = 0, sxt = 0;  // sums weighted by 1/t^2
  for (const auto& [bytes, t] : points) {
    const double x = static_cast<double>(bytes), w = 1 / (t * t);
    s += w;
    sx += w * x;
    sxx += w * x * x;
    st += w * t;
    sxt += w * x * t;
  }
  const double determinant = s * sxx - sx * sx;
  b = determinant > 0 ? (s * sxt - sx * st) / determinant : 0;
  a = (st - b * sx) / s;
  if (a < 0) {
    a = 0;
    b = sxt / sxx;
  }
  if (b <= 0) {
    b = 0;
    a = st / s;
  }
}

double relativeError(const BestBySize& points, double a, double b) {
  double sum = 0;
  for (const auto& [bytes, t] : points) {
    const double error = (a + b * static_cast<double>(bytes)) / t - 1;
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

}  // namespace

Rates ratesOf(const Task& task, double us) {
  if (us <= 0) return {};
  const double algbw = static_cast<double>(task.bytes) / us * 1e-3;  // bytes/us is 10^6 B/s
  return {algbw, algbw * busFactor(task.collective, task.nRanks)};
}

std::vector<LatencyFit> latencyFits(const RunRecord& record) {
  std::vector<LatencyFit> fits;
  for (const auto& [key, points] : bestTimes(record)) {
    if (points.size() < 2) continue;
    LatencyFit fit;
    std::tie(fit.collective, fit.nRanks, fit.algorithm) = key;
    fit.sizes = static_cast<int>(points.size());
    double perByte = 0;  // us
    fitLine(points, fit.alphaUs, perByte);
    if (perByte > 0) {
      fit.bandwidthGBps = 1e-3 / perByte;
      fit.halfBytes = fit.alphaUs / perByte;
    }
    fit.residual = relativeError(points, fit.alphaUs, perByte);
    fits.push_back(fit);
  }
  return fits;
}

}  // namespace autoccl
