// What is measured: for each call the best config of each kind, then all of them in turns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ways.h"

namespace autoccl::gpubench {

/// One contender on one call.
struct Row {
  Collective collective{};
  uint64_t bytes = 0;
  std::string contender;  // "nccl", "direct", "zero", "ce", "cezero"
  std::string config;
  int compute = 0;              // size of the matrix products beside; 0: none
  std::vector<double> roundUs;  // interleaved rounds
  double aloneUs = 0;           // beside compute: the same config alone
  double productUs = 0;         // beside compute: a matrix product's time
  double productAloneUs = 0;
};

/// One config of the sweep that found the best: the points of the response curves.
struct Point {
  Collective collective{};
  uint64_t bytes = 0;
  Config config;
  double us = 0;
};

struct Limit {
  uint64_t bytes = 0;
  double us = 0;
};

struct Results {
  std::vector<Row> rows;
  std::vector<Point> points;
  std::vector<Limit> limits;
  std::vector<std::string> faults;
  int checked = 0;
  std::string device, nccl;
};

/// The same on every rank, but for faults, which are a rank's own.
[[nodiscard]] Results measure(const Options& options, Rank& rank);

}  // namespace autoccl::gpubench
