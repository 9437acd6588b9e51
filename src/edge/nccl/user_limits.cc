#include "edge/nccl/user_limits.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace autoccl::nccl {
namespace {

constexpr int kMostChannels = 64;  // NCCL's own bound since 2.25

/// The channels that a variable asks for; 0 where it asks for none.
int channelsIn(const Sources& sources, std::string_view name) {
  const Setting* setting = sources.inForce(name);
  if (setting == nullptr) return 0;
  const int64_t n = integerAsRead(setting->value);
  return n < 1 ? 0 : static_cast<int>(std::min<int64_t>(n, kMostChannels));
}

}  // namespace

UserLimits userLimits(const Sources& sources) {
  UserLimits limits;
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
                           "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"})
    if (const Setting* setting = sources.inForce(name))
      limits.text += (limits.text.empty() ? "" : " ") + setting->name + "=" + setting->value;
  limits.choosesPairs =
      sources.inForce("NCCL_ALGO") != nullptr || sources.inForce("NCCL_PROTO") != nullptr;
  int most = kMostChannels;
  bool bounded = false;
  for (const char* name : {"NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"})
    if (const int n = channelsIn(sources, name); n > 0) most = std::min(most, n), bounded = true;
  for (const char* name : {"NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS"})
    limits.minChannels = std::max(limits.minChannels, channelsIn(sources, name));
  if (bounded) limits.maxChannels = most;
  limits.minChannels = std::min(limits.minChannels, bounded ? most : kMostChannels);
  limits.maxChannels = std::max(limits.maxChannels, limits.minChannels);
  return limits;
}

const UserLimits& userLimits() {
  static const UserLimits limits = userLimits(readSources(environ));
  return limits;
}

}  // namespace autoccl::nccl
