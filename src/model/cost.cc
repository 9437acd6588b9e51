#include "model/cost.h"

#include <algorithm>
#include <cmath>

namespace autoccl {

double laneBytes(const Config& c) noexcept {
  return std::max(1.0, double(c.channels)) * std::max(1.0, double(c.chunk));
}
double laneWorkers(const Config& c) noexcept {
  return std::max(1.0, double(c.channels)) * std::max(1.0, double(c.threads));
}

double congestion(const CostParameters& p, const Config& c) noexcept {
  return 1.0 / (1.0 + p.perByte * laneBytes(c) + p.perWorker * laneWorkers(c));
}

double transportBandwidth(const CostParameters& p, const Config& c) noexcept {
  const double x = laneBytes(c);
  return x / (p.startUs0 + x / (p.peak0 * congestion(p, c)));
}

double workerBandwidth(const CostParameters& p, const Config& c) noexcept {
  const double w = laneWorkers(c);
  return w / (p.startUs1 + w / (p.peak1 * congestion(p, c)));
}

double costUs(const CostParameters& p, uint64_t bytes, const Config& c) noexcept {
  const double x = laneBytes(c), m = double(bytes);
  const double transport = std::ceil(m / x) * p.startUs0 + m / (p.peak0 * congestion(p, c));
  return p.fixedUs + std::max(transport, m / workerBandwidth(p, c));
}

}  // namespace autoccl
