// The variables by which launchers tell a process its place in a job: the one table of them.
#pragma once

#include <array>
#include <string>

namespace autoccl {

/// Variables of one launcher; null where it has none.
struct Launcher {
  const char* name;
  const char* rank;
  const char* nRanks;
  const char* localRanks;          // ranks on this host
  std::array<const char*, 4> job;  // together they name the job
};

/// The first that has set both rank and number of ranks speaks: `autoccl run` may run under
/// another, mpirun inside a Slurm step. Slurm counts the tasks of the step: a batch script, which
/// is told those of the whole job, is no rank of it.
inline constexpr std::array<Launcher, 5> kLaunchers{{
    {"autoccl run", "AUTOCCL_RANK", "AUTOCCL_NRANKS", nullptr, {"AUTOCCL_ID"}},
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_WORLD_SIZE",
     {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri", "PMIX_SERVER_URI2"}},
    {"MPICH",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALNRANKS",
     {"PMI_PORT", "PMI_ID_JOB", "SLURM_JOB_ID"}},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     nullptr,
     {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
}};

/// This process's rank of the job, in digits, as the first launcher with one has set it; empty for
/// none.
[[nodiscard]] std::string launchedRankText();

}  // namespace autoccl
