// A script that starts one process per GPU where that GPU is, and the files that launchers take.
#pragma once

#include <string>
#include <string_view>

#include "topo/plan.h"

namespace autoccl::topo {

enum class Launcher : uint8_t { kLocal, kTorchrun, kSlurm, kOpenMpi };

/// Where one local rank runs.
struct Seat {
  int gpu = -1;       // as people and NVML number it
  int numaNode = -1;  // -1: unknown, nothing is bound
  CpuSet cpus;        // this rank's share of its NUMA node's CPUs
};

/// Seats of the local ranks 0, 1, …: rank i has GPU i. GPUs of one NUMA node share its CPUs in
/// equal parts; with fewer CPUs than GPUs all of them have all.
[[nodiscard]] std::vector<Seat> seatsOf(const Host& host);

/// A bash script. `script PROGRAM ARG…` runs as each rank's wrapper: it finds the local rank in the
/// variables of the launcher, binds CPUs and memory by the table of seats, never outside of the
/// CPUs it may use, sets LOCAL_RANK and CUDA_DEVICE_ORDER, and becomes the program. `script --start
/// PROGRAM ARG…` starts the ranks by the launcher (kLocal: itself, with RANK and WORLD_SIZE), and
/// ends with the first status that is not 0. With `oneVisible` each rank sees its GPU alone.
[[nodiscard]] std::string launchScript(const Job& job, Launcher launcher, bool oneVisible);

/// Rank i on host i / GPUs: Open MPI's rankfile, Slurm's host file for --distribution=arbitrary,
/// and for torchrun a line for each host. Empty for kLocal.
[[nodiscard]] std::string rankFile(const Job& job, Launcher launcher);

}  // namespace autoccl::topo
