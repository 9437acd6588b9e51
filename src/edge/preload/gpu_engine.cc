#include "edge/preload/gpu_engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/settings.h"
#include "direct/image.h"
#include "edge/nccl/open_session.h"
#include "edge/preload/watcher.h"

namespace autoccl::preload {
namespace {

constexpr uint32_t kOwnClass = 1000;  // no class of NCCL's is
constexpr uint32_t kMovedClass = 1;   // NCCL's own, where nothing is combined

/// Alike on all ranks, from the session that they share; on one host alone.
::autoccl::UniqueId meetingOf(const nccl::CommContext& context) {
  const nccl::Origin& origin = context.origin();
  if (origin.nNodes != 1)
    throw Error(ErrorCode::kUsage, "its ranks are not all on one host, as NCCL counts hosts");
  const auto links = nccl::linksForVariants(origin);
  if (!links) throw Error(ErrorCode::kUsage, "its ranks have nowhere to meet");
  return uniqueIdFrom("gpus-" + std::to_string(links->session));
}

void keepWithin(Subspace& sub) {
  if (setting("AUTOCCL_MAX_CHANNELS").fromEnvironment)
    std::erase_if(sub.channels,
                  [most = settingNumber("AUTOCCL_MAX_CHANNELS")](uint16_t n) { return n > most; });
  if (setting("AUTOCCL_MAX_THREADS").fromEnvironment)
    std::erase_if(sub.threads,
                  [most = settingNumber("AUTOCCL_MAX_THREADS")](uint16_t n) { return n > most; });
  if (setting("AUTOCCL_MAX_CHUNK").fromEnvironment)
    std::erase_if(sub.chunks,
                  [most = settingSize("AUTOCCL_MAX_CHUNK")](uint32_t c) { return c > most; });
}

/// The group's context is current for as long as it lives: a program of several GPUs may have
/// another one.
class Current {
 public:
  Current(const direct::Cuda& cuda, direct::CudaContext wanted) noexcept : cuda_(cuda) {
    if (cuda.contextGetCurrent(&before_) == direct::kCudaSuccess && before_ != wanted)
      changed_ = cuda.contextSetCurrent(wanted) == direct::kCudaSuccess;
  }
  ~Current() {
    if (changed_) cuda_.contextSetCurrent(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const direct::Cuda& cuda_;
  direct::CudaContext before_ = nullptr;
  bool changed_ = false;
};

}  // namespace

GpuEngine::GpuEngine(std::unique_ptr<direct::Group> group) : group_(std::move(group)) {}

std::unique_ptr<GpuEngine> GpuEngine::open(const CommEntry& entry,
                                           const nccl::CommContext& context) {
  direct::Seat seat;
  seat.meeting = meetingOf(context);
  seat.rank = entry.known.rank;
  seat.nRanks = entry.known.nRanks;
  seat.memory = settingSize("AUTOCCL_DIRECT_MEMORY");
  seat.timeoutNs = static_cast<int64_t>(settingNumber("AUTOCCL_INIT_TIMEOUT") * 1e9);
  seat.image = direct::embeddedImage();
  std::unique_ptr<GpuEngine> engine(new GpuEngine(direct::Group::open(seat)));
  (void)direct::Cuda::find(false)->contextGetCurrent(&engine->context_);
  return engine;
}

// HOT
std::optional<int> GpuEngine::run(const CallFacts& facts, const Config& config) noexcept {
  const auto element = modelTypes(facts.dtype, facts.op);
  direct::Call call;
  call.collective = facts.collective;
  call.dtype = element.dtype;
  call.op = element.op;
  call.send = facts.send;
  call.recv = facts.recv;
  call.count = facts.count;
  call.root = facts.root;
  call.stream = facts.stream;
  const Current current(*direct::Cuda::find(false), context_);
  switch (group_->run(call, config)) {
    case direct::Outcome::kDone:
      return kSuccess;
    case direct::Outcome::kUnsuited:
      return std::nullopt;
    default:
      return kRemoteError;
  }
}

void GpuEngine::extend(Space& space) const {
  const Space ours = group_->spaceFor(space.task, false);
  for (Subspace sub : ours.subspaces) {
    keepWithin(sub);
    if (sub.size() == 0) continue;
    sub.numericalClass = reduces(space.task.collective) ? kOwnClass : kMovedClass;
    space.subspaces.push_back(std::move(sub));
  }
  const auto either = [](auto nccls, auto gpus) {
    return [nccls = std::move(nccls), gpus = std::move(gpus)](const Config& c) {
      return nccl::onGpuEngine(c) ? gpus(c) : nccls(c);
    };
  };
  space.valid = either(space.valid, ours.valid);
  space.priorUs = either(space.priorUs, ours.priorUs);
}

}  // namespace autoccl::preload
