// The rows of a search bench as a table, as JSON and as a plot.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "searches.h"

namespace autoccl {

/// One policy at one noise. The first fields are the policy's own answer; those of the tuner
/// (SubspaceRace with confirmation and budget, as in a job) are 0 for other policies.
struct SearchRow {
  std::string policy;
  double noise = 0;
  int seeds = 0;
  double callsMedian = 0;  // measured calls
  double reached95 = 0;    // share of seeds at >= 95 % of the oracle
  /// Share of flat surfaces on which a gain is claimed: by the confirmation where the policy has
  /// one (SubspaceRace), by its arg-min where that is the method's last word (all others).
  double falseGain = 0;
  double ofOracleGeomean = 0;
  double tunerReached95 = 0;
  double tunerCallsMedian = 0;   // measured calls, those of the confirmation included
  double wallCallsMedian = 0;    // all calls until it had converged within its budget
  double wallCallsNinth = 0;     // the same, of the ninth of ten seeds
  double lostShare = 0;          // time lost on trials / communication time until then, mean
  std::vector<double> ofOracle;  // by seed, ascending
  std::array<double, kLosses> losses{};  // share of seeds by Loss
  std::array<double, kLosses> tunerLosses{};
};

/// A row per policy and noise, in the order in which they first occur.
[[nodiscard]] std::vector<SearchRow> rowsOf(const std::vector<Search>& searches);
[[nodiscard]] std::string tableText(const std::vector<SearchRow>& rows);
/// Where the seeds that miss the goal lose it.
[[nodiscard]] std::string lossText(const std::vector<SearchRow>& rows);
[[nodiscard]] std::string jsonText(const std::vector<SearchRow>& rows);
/// Share of seeds (up) that reach at least a share of the oracle (right), a curve per policy, a
/// panel per noise.
[[nodiscard]] std::string svgText(const std::vector<SearchRow>& rows);

}  // namespace autoccl
