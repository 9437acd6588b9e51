// NCCL's variables that follow from a host, release by release.
#pragma once

#include <string>

#include "topo/host.h"

namespace autoccl::topo {

struct EnvRequest {
  int ncclVersion = 0;       // 22809 for 2.28.9; 0: the newest
  std::string topologyFile;  // where the exported XML will lie; empty: not named
  bool rails = false;        // all hosts of the job have the same NICs on the same rails
};

/// Lines of a nccl.conf: only what differs from NCCL's own choice and follows from the description,
/// each below a comment that says why. Values are plain, comments begin in column one. Nothing that
/// forces an algorithm or a protocol is written.
[[nodiscard]] std::string ncclEnvironment(const Host& host, const EnvRequest& request);

}  // namespace autoccl::topo
