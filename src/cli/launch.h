// How a job is to be started: which ranks, where, with which variables. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace autoccl::cli {

using Variables = std::vector<std::pair<std::string, std::string>>;
using Lookup = std::function<std::optional<std::string>(const char* name)>;

/// A rank as a launcher above us has set it up.
struct LaunchedRank {
  std::string launcher;  // "torchrun", "Open MPI", "MPICH", "Slurm"
  int rank = 0;
  int nRanks = 1;
};

/// Reads the launchers' variables: torchrun's RANK and WORLD_SIZE, Open MPI's OMPI_COMM_WORLD_*,
/// MPICH's PMI_RANK and PMI_SIZE, Slurm's SLURM_PROCID and SLURM_STEP_NUM_TASKS. Nothing if none
/// is there. Throws Error naming a variable that is no number or whose rank is beyond its size.
[[nodiscard]] std::optional<LaunchedRank> launchedRank(const Lookup& lookup);

/// Variables for a rank that `autoccl run` starts under that launcher. MPICH names no job, so its
/// ranks would know each other by their common parent, which we step in front of: they get rank,
/// size and the name that `parent`, our own parent, gives. Other launchers name their jobs: none.
/// With ranks on other hosts (MPI_LOCALNRANKS) none either; the library says so then.
[[nodiscard]] Variables variablesUnder(const LaunchedRank& rank, int parent, const Lookup& lookup);

/// The cores of rank `rank` of `nRanks` out of the allowed ones: with as many cores as ranks or
/// more, a run of neighbours for each; with fewer, one core by turns.
[[nodiscard]] std::vector<int> coresOf(int rank, int nRanks, const std::vector<int>& allowed);

/// Cores that this process may run on, ascending.
[[nodiscard]] std::vector<int> allowedCores();

/// A job's name: 32 hex digits of the kernel's randomness.
[[nodiscard]] std::string newJobId();

}  // namespace autoccl::cli
