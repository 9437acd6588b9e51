// What each NCCL release does around its plugins: one row per release, from public source.
#pragma once

namespace autoccl::nccl_double {

/// How a release chooses from the cost table after the tuner has had it.
enum class Choice {
  kPair,         // 2.19-2.21: the tuner answers with a pair, unchecked
  kSmallest,     // 2.22-2.30: the smallest entry >= 0
  kSmallestEver  // 2.31.2+: the smallest entry, negative ones included
};

/// A release as far as a plugin can tell it from others. Versions are NCCL's codes: 22809
/// is 2.28.9.
struct Release {
  int version = 0;
  int tunerNewest = 0, tunerOldest = 0;  // plugin interfaces looked for, newest first; 0: none
  int profilerNewest = 0;                // down to v1; 0: none
  int envNewest = 0;                     // down to v1; 0: none
  bool tunerByDefaultName = false;       // libnccl-tuner.so without NCCL_TUNER_PLUGIN (2.21+)
  bool prefixedName = false;             // NAME, then libnccl-tuner-NAME.so (2.21+)
  bool staticPlugin = false;             // STATIC_PLUGIN means dlopen(NULL) (2.22+)
  bool bareNamesOnly = false;            // 2.26.2-2.27.3: no absolute path, no STATIC_PLUGIN
  Choice choice = Choice::kSmallest;
  float slowestUs = 0;          // entries from here on are never chosen
  int algorithms = 7;           // rows of the cost table: 6 up to 2.22
  int maxChannels = 64;         // 32 up to 2.24
  int minTrafficBytes = 0;      // per channel; 0: channels are not divided by traffic (before 2.22)
  bool initInCaller = false;    // 2.28+: a sole init job runs on the caller's thread
  bool gpuStamps = false;       // 2.27+: KernelCh carries the GPU's timer
  bool kernelEvents = false;    // 2.26+: KernelCh exists
  bool simulate = false;        // ncclGroupSimulateEnd (2.22+)
  bool noCache = false;         // NCCL_NO_CACHE (2.29.7+)
  bool efficiency = false;      // CTAPolicy EFFICIENCY (2.27+)
  bool symmetricProbe = false;  // 2.31.2+: the tuner is also asked about symmetric kernels
  bool channelsOnlyLower = false;  // 2.31.2+: the tuner's number of channels may only lower
  bool patManyRanks = false;       // 2.31.2+: PAT with several ranks per node
};

/// The row for a version code: the newest release at or below it. Versions from 2.18.1 on.
[[nodiscard]] Release releaseOf(int version);
/// The release this process plays: NCCL_DOUBLE_VERSION, 22809 where it is not set.
[[nodiscard]] const Release& release();

}  // namespace autoccl::nccl_double
