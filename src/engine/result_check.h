// Check mode (AUTOCCL_CHECK): a config's first result is held against the default's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/call.h"
#include "model/config.h"

namespace autoccl {

/// Copies of one call's receive buffer, before and after. Integers must agree bit for bit; floats
/// within 4 n eps of the largest magnitude in the buffer, since another order of reduction rounds
/// otherwise. NaN equals NaN. Allocates: a mode for finding faults, not for speed.
/// Thread-compatible. Errors: std::bad_alloc.
class ResultCheck {
 public:
  /// Before the first run: what the buffer holds, for an input in place.
  void keepInput(const Call& call, int rank, int nRanks);
  /// After the run under test: keeps its result and puts the input back.
  void keepResult(const Call& call);
  /// After the default's run: true if the kept result agrees with it.
  [[nodiscard]] bool agrees(const Call& call, int nRanks) const;

  /// True once for each (task, config): then the config must be checked.
  [[nodiscard]] bool firstTime(uint64_t taskKey, const Config& config);

 private:
  std::vector<std::byte> input_, result_;
  std::map<uint64_t, std::vector<Config>> seen_;
};

/// True if the two buffers of `bytes` hold the same values of that type, as ResultCheck says.
[[nodiscard]] bool sameValues(const void* a, const void* b, uint64_t bytes, DataType dtype,
                              int nRanks);

}  // namespace autoccl
