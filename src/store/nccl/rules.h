// The rule file of NCCL's example tuner, which users and other tools copy: read strictly, checked,
// written so that every known reader takes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace autoccl::nccl {

/// One line: for this function, these bytes (both ends included) and this job, use that. -1 means
/// any job, or "as NCCL would" for the channels. Bytes are NCCL's nBytes: element size times the
/// larger of total send and receive count.
struct Rule {
  int function = 4;  // index into kFunctions
  uint64_t minBytes = 0;
  uint64_t maxBytes = UINT64_MAX;
  int algorithm = 1;  // index into kAlgorithms
  int protocol = 2;   // index into kProtocols
  int channels = -1;
  int nNodes = -1;
  int nRanks = -1;
  int pipeOps = -1;
  int registered = -1;
  int line = 0;  // where it was read

  friend bool operator==(const Rule&, const Rule&) = default;
};

/// "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]]",
/// '#' begins a comment line, empty lines are skipped. Throws Error "file:line: reason" for
/// anything else, among them what the example reader takes silently: unknown words, empty fields,
/// "1M", blanks inside fields, a header line, a byte-order mark, minBytes above maxBytes.
[[nodiscard]] std::vector<Rule> readRules(std::string_view text, const std::string& fileName);

/// Ten columns, lower case, no blanks.
[[nodiscard]] std::string writeRules(const std::vector<Rule>& rules);

/// Findings of a file that can be read: rules that none can reach because an earlier one takes
/// everything (the first match wins), ranges that overlap, gaps between the ranges of a collective,
/// sizes above the last range (the classic 4294967295 stops short of 4 GiB), pairs that NCCL does
/// not implement, LL128 forced, channels out of range.
[[nodiscard]] std::vector<Finding> lintRules(const std::vector<Rule>& rules,
                                             const std::string& fileName);

}  // namespace autoccl::nccl
