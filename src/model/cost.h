// The performance model: equations 1 to 5 of the paper, as a time for a config.
#pragma once

#include <cstdint>

#include "model/config.h"

namespace autoccl {

/// Parameters of one subspace for one size. Two phases overlap, so the slower one decides (eq. 1):
/// phase 0 moves NC x C bytes per round (eqs. 2-4), phase 1 works on them with NC x NT workers
/// (eq. 5). In times per byte, which are linear in the parameters:
///   1/beta0 = startUs0/(NC*C)  + (1+g)/peak0
///   1/beta1 = startUs1/(NC*NT) + (1+g)/peak1,    g = perByte*NC*C + perWorker*NC*NT
/// gamma = 1/(1+g) falls in (0,1]: congestion multiplies the peak as an efficiency, so it must fall
/// as NC, NT and C grow. Units: us, bytes, bytes/us (1000 bytes/us = 1 GB/s).
struct CostParameters {
  double startUs0 = 0;
  double peak0 = 1;
  double startUs1 = 0;
  double peak1 = 1;
  double perByte = 0;
  double perWorker = 0;
  double fixedUs = 0;  // per call, whatever the config
};

/// NC x C and NC x NT, at least 1; a count left to the engine (0) counts as 1.
[[nodiscard]] double laneBytes(const Config& c) noexcept;
[[nodiscard]] double laneWorkers(const Config& c) noexcept;
/// gamma of a config: the share of the peak that congestion leaves.
[[nodiscard]] double congestion(const CostParameters& p, const Config& c) noexcept;
/// beta0 and beta1 in bytes/us: bandwidth reached by transport (eq. 4) and by the workers (eq. 5).
[[nodiscard]] double transportBandwidth(const CostParameters& p, const Config& c) noexcept;
[[nodiscard]] double workerBandwidth(const CostParameters& p, const Config& c) noexcept;
/// fixedUs + the slower phase's time for `bytes`. The start costs of phase 0 count whole rounds,
/// ceil(bytes/(NC*C)), which equation 2 leaves out: hence the saw-teeth over C at small sizes.
[[nodiscard]] double costUs(const CostParameters& p, uint64_t bytes, const Config& c) noexcept;

}  // namespace autoccl
