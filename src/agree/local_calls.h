// What the protocol needs of a rank: its fences, its counters, its table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agree/message.h"

namespace autoccl {

/// The protocol's only hands: the real table (table.h) or a model's (model_test.cc).
class LocalCalls {
 public:
  virtual ~LocalCalls() = default;
  /// Fences the first call of every change; from then on such a call waits. A sentence, and no
  /// fence, where this rank cannot take the version.
  virtual std::optional<std::string> install(const Prepare& prepare) = 0;
  /// Calls taken so far; read it only after install().
  [[nodiscard]] virtual uint64_t nextIndex(uint64_t taskKey) const = 0;
  /// Newest first, at most `most`.
  [[nodiscard]] virtual std::vector<SequenceHash> hashes(size_t most) const = 0;
  /// Puts the entries in force (commit) or not, then lifts the fences.
  virtual void settle(const Prepare& prepare, bool commit) = 0;
  /// True when a call waited at a fence since the last install().
  [[nodiscard]] virtual bool waitedSinceInstall() const = 0;
};

}  // namespace autoccl
