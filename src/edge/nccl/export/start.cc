// Preloading the library is enough: it names itself to NCCL, which then loads its plugins from it.
#include <cstdlib>
#include <cstring>

#include "edge/nccl/open_session.h"

namespace autoccl::nccl {
namespace {

/// Our SONAME. NCCL hands it to dlopen, which finds what is loaded already under that name, on
/// every version (absolute paths are not honoured by 2.26.2 to 2.27.3).
constexpr const char* kName = "libnccl-tuner-autoccl.so";

bool isPreloaded() noexcept {
  const char* preload = std::getenv("LD_PRELOAD");
  return preload != nullptr && std::strstr(preload, kName) != nullptr;
}

/// Under NCCL_CTA_POLICY=1 (efficiency) NCCL chooses by other rules as soon as any tuner is loaded,
/// so it must be loaded on all ranks or on none: only a launcher of ours makes sure of that.
bool mayLoadTuner() noexcept {
  const char* policy = std::getenv("NCCL_CTA_POLICY");
  const bool efficiency = policy != nullptr && std::strtol(policy, nullptr, 0) == 1;
  return !efficiency || std::getenv("AUTOCCL_ID") != nullptr;
}

/// Before main, before NCCL reads its environment. What the user has set stays.
__attribute__((constructor)) void nameOurselves() noexcept {
  if (!isPreloaded() || !tuningWanted()) return;
  if (mayLoadTuner()) setenv("NCCL_TUNER_PLUGIN", kName, 0);
  setenv("NCCL_PROFILER_PLUGIN", kName, 0);
  const char* variants = std::getenv("AUTOCCL_VARIANTS");
  if (variants != nullptr && std::strstr(variants, "buffers") != nullptr)
    setenv("NCCL_NO_CACHE", "NCCL_BUFFSIZE", 0);
}

}  // namespace
}  // namespace autoccl::nccl
