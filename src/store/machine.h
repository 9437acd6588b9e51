// What machine is this? Timings learned on one machine say little about another.
#pragma once

#include <cstdint>
#include <string>

namespace autoccl {

/// The properties that decide how fast collectives are. Sizes in bytes.
struct Machine {
  std::string cpuModel;
  int cores = 0;                    // that the job may use
  uint64_t l1 = 0, l2 = 0, l3 = 0;  // data or unified caches of one core; 0: none
  uint64_t memory = 0;
  std::string kernel;      // release, as uname -r
  std::string gpuModel{};  // as the driver names them; "A + B" where they differ
  int gpus = 0;            // that this host shows; 0: none, or no NVIDIA driver
};

/// Reads /proc and /sys below `root` (empty: this machine). `cores` is AUTOCCL_CORES where set,
/// else the cores this process may run on. What cannot be read stays empty or 0.
[[nodiscard]] Machine readMachine(const std::string& root = "");

/// "cpu-2c-0f3a…": 16 hex digits over the properties, memory rounded to GiB and the kernel to its
/// first two numbers, so that a small update of the system changes nothing; GPUs by model and
/// number where there are any. Pure.
[[nodiscard]] std::string fingerprintOf(const Machine& machine);

/// One line for people.
[[nodiscard]] std::string toText(const Machine& machine);

}  // namespace autoccl
