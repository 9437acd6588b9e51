// What an engine offers for a task: subspaces, grids, validity, prior, numerical class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/task.h"

namespace autoccl {

/// All configs of one <A, P, T, extra>. The grids are ascending and never empty; a config is
/// (channels[i], threads[j], chunks[k]) and must pass Space::valid.
struct Subspace {
  Algorithm algorithm{};
  Protocol protocol{};
  Transport transport{};
  uint8_t extra = 0;
  std::vector<uint16_t> channels;
  std::vector<uint16_t> threads;
  std::vector<uint32_t> chunks;
  /// Configs of one class give bit-identical results (same reduction order).
  uint32_t numericalClass = 0;

  [[nodiscard]] size_t size() const { return channels.size() * threads.size() * chunks.size(); }
  [[nodiscard]] Config at(size_t nc, size_t nt, size_t c) const {
    return {algorithm, protocol, transport, extra, channels[nc], threads[nt], chunks[c]};
  }
  [[nodiscard]] bool holds(const Config& c) const {
    return c.algorithm == algorithm && c.protocol == protocol && c.transport == transport &&
           c.extra == extra;
  }
};

/// The space of one task. `fallback` is the default: candidate 0, what the engine does untouched;
/// it need not lie on a grid. Pure functions; thread-compatible.
struct Space {
  Task task;
  Config fallback;
  uint32_t fallbackClass = 0;
  std::vector<Subspace> subspaces;
  std::function<bool(const Config&)> valid = [](const Config&) { return true; };
  /// Predicted microseconds, the engine's prior. Only ratios matter.
  std::function<double(const Config&)> priorUs = [](const Config&) { return 1.0; };
  /// Names of the values of the extra parameter, by index; empty where the engine has none.
  std::string extraName;
  std::vector<std::string> extraValues;
};

}  // namespace autoccl
