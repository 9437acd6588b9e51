// The spaces of tasks, asked of the engine itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/task.h"

namespace autoccl::cli {

/// One <A, P, T, extra> of a space.
struct SubspaceCount {
  std::string name;    // "twoshot/zero/shm wait=spin"
  size_t full = 0;     // configs
  size_t thinned = 0;  // on the grid of the exhaustive search (bench/exhaustive.h)
};

/// What the search of one task has before it.
struct SpaceFacts {
  Task task;
  std::vector<SubspaceCount> subspaces;
  double defaultUs = 0;  // a call under the default, median
  [[nodiscard]] size_t full() const;
  [[nodiscard]] size_t thinned() const;
};

/// Groups lines of acclCommSpace. Pure. Throws Error for a line that is no config.
[[nodiscard]] std::vector<SubspaceCount> countSubspaces(const std::vector<std::string>& lines);

/// A communicator of n ranks inside this process. Throws Error with the
/// library's sentence.
class SpaceProbe {
 public:
  explicit SpaceProbe(int nRanks);
  ~SpaceProbe();
  SpaceProbe(const SpaceProbe&) = delete;
  SpaceProbe& operator=(const SpaceProbe&) = delete;

  /// Configs that the engine offers for a task of float32, one a line.
  [[nodiscard]] std::vector<std::string> configs(const Task& task) const;
  /// Median microseconds of a few calls under the default, measured now.
  [[nodiscard]] double defaultUs(const Task& task) const;
  [[nodiscard]] SpaceFacts facts(const Task& task, double defaultUs) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A table of the subspaces, then what trying all configs would take at `callsPerConfig` calls each
/// of the default's time, beside the calls that the default policy may use.
[[nodiscard]] std::string spaceText(const SpaceFacts& facts);

}  // namespace autoccl::cli
