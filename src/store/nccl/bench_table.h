// The table that nccl-tests and rccl-tests print, in every layout they ever had.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/types.h"

namespace autoccl::nccl {

/// One half of a row. Times in us, bandwidths in GB/s (10^9 bytes a second).
struct BenchHalf {
  double us = 0, algbw = 0, busbw = 0;
  double wrong = -1;  // number of wrong elements, or the largest error; -1: not checked
};

struct BenchRow {
  uint64_t bytes = 0;
  std::string type, op;
  BenchHalf out, in;
  size_t line = 0;
  /// The better bus bandwidth of both.
  [[nodiscard]] double busbw() const { return out.busbw > in.busbw ? out.busbw : in.busbw; }
  [[nodiscard]] double us() const { return out.busbw >= in.busbw ? out.us : in.us; }
};

struct BenchTable {
  std::string file;
  std::vector<BenchRow> rows;             // with bytes > 0, in their order
  std::optional<Collective> collective;   // by the program's name, else by algbw and busbw
  bool countsWrong = true;                // the column is "#wrong", else "error"
  int ranks = 0, hosts = 0;               // by the list of devices; 0: not there
  std::string gpu;                        // "NVIDIA H100 80GB HBM3"
  double statedAverage = 0;               // of the bus bandwidth; 0: no such line
  size_t zeroRows = 0, foreignLines = 0;  // rows of no bytes; other lines inside the table
};

/// The header's words name the columns; whatever a launcher puts before a line is passed over. Log
/// lines inside the table are counted. Throws Error (kInput) "file: …" where there is no header,
/// and "file:line: …" for a row that does not fit it. Linear.
[[nodiscard]] BenchTable readBenchTable(std::string_view text, const std::string& file);

/// Has a header of such a table.
[[nodiscard]] bool looksLikeBenchTable(std::string_view text);

}  // namespace autoccl::nccl
