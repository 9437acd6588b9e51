// The rows of a search bench as a table, as JSON and as a plot.
#pragma once

#include <string>
#include <vector>

#include "simulate.h"

namespace autoccl {

/// One policy at one noise.
struct SearchRow {
  std::string policy;  // "tuner": SubspaceRace with its confirmation and budget, as in a job
  double noise = 0;
  int seeds = 0;
  double callsMedian = 0;  // measured calls
  double reached95 = 0;    // share of seeds at >= 95 % of the oracle
  double falseGain = 0;    // share of flat surfaces on which a gain is claimed
  double ofOracleGeomean = 0;
  double wallCallsMedian = 0;    // tuner only
  double lostShare = 0;          // tuner only, mean
  std::vector<double> ofOracle;  // by seed, ascending
};

/// `real` ran on surfaces with an optimum, `flat` on flat ones.
[[nodiscard]] SearchRow rowOf(const std::string& policy, double noise,
                              const std::vector<Searched>& real, const std::vector<Searched>& flat);
[[nodiscard]] std::string tableText(const std::vector<SearchRow>& rows);
[[nodiscard]] std::string jsonText(const std::vector<SearchRow>& rows);
/// Share of seeds (up) that reach at least a share of the oracle (right), a curve per policy, a
/// panel per noise.
[[nodiscard]] std::string svgText(const std::vector<SearchRow>& rows);

}  // namespace autoccl
