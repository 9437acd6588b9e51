// What the user has told NCCL in its own variables: it wins over anything we would try.
#pragma once

#include <string>

#include "store/nccl/settings.h"

namespace autoccl::nccl {

/// Bounds on the search from NCCL's settings. Algorithms and protocols need none: what NCCL_ALGO
/// and NCCL_PROTO forbid is missing from the cost table, except for the interfaces without one.
struct UserLimits {
  int minChannels = 1;
  int maxChannels = 32;       // what NCCL has where nothing is set
  bool choosesPairs = false;  // NCCL_ALGO or NCCL_PROTO is set
  std::string text;           // "NCCL_ALGO=Ring NCCL_MAX_NCHANNELS=8", empty where nothing is set
};

/// From the settings in force. NCCL takes the larger of MIN_NCHANNELS and MIN_CTAS and the smaller
/// of the maxima; a minimum above a maximum counts as the maximum.
[[nodiscard]] UserLimits userLimits(const Sources& sources);

/// Of this process; read once.
[[nodiscard]] const UserLimits& userLimits();

}  // namespace autoccl::nccl
