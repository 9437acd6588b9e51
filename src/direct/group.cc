#include "direct/group.h"

#include "base/error.h"
#include "base/log.h"
#include "direct/group_state.h"

namespace autoccl::direct {
namespace {

constexpr const char* kRefused = "the CUDA driver refused a call of the GPU engine";
constexpr const char* kStopped = "the communicator was aborted";

/// Calls of a group run one after another, whatever streams they come on.
int order(GroupState& s, CudaStream stream) noexcept {
  if (!s.anyCall || s.lastStream == stream) return kCudaSuccess;
  return s.cuda.streamWaitEvent(stream, s.lastCall, 0);
}

int conclude(GroupState& s, CudaStream stream) noexcept {
  s.anyCall = true;
  s.lastStream = stream;
  return s.cuda.eventRecord(s.lastCall, stream);
}

}  // namespace

Group::Group(std::unique_ptr<GroupState> state) : state_(std::move(state)) {}
Group::~Group() = default;

std::unique_ptr<Group> Group::open(const Seat& seat) {
  if (seat.nRanks < 2 || seat.nRanks > int{kMaxRanks})
    throw Error(ErrorCode::kUsage, "the GPU engine joins 2 to " + std::to_string(kMaxRanks) +
                                       " ranks, not " + std::to_string(seat.nRanks));
  return std::unique_ptr<Group>(new Group(std::make_unique<GroupState>(seat)));
}

// HOT
Outcome Group::run(const Call& call, const Config& config) noexcept {
  GroupState& s = *state_;
  if (s.watchdog->why() != nullptr) return Outcome::kFailed;
  const bool engines = config.transport == Transport::kCe;
  const bool zero = config.protocol == Protocol::kZero;
  if (!suits(call.collective, config) || (engines && !s.streamsWork)) return Outcome::kUnsuited;
  if (zero && (!shared(call) || call.op == ReduceOp::kScaledSum)) return Outcome::kUnsuited;
  if (engines && reduces(call.collective) && call.op == ReduceOp::kScaledSum)
    return Outcome::kUnsuited;
  const Planned planned = planCall(s, call, config);
  if (planned.geometry.depth == 0) return Outcome::kUnsuited;
  if (reduces(call.collective) && s.kernels->find(Body::kDirect, int(call.dtype)) == nullptr)
    return Outcome::kUnsuited;
  if (call.count == 0) return Outcome::kDone;
  int code = order(s, call.stream);
  if (code == kCudaSuccess)
    code = engines ? runEngines(s, call, config, planned) : runKernels(s, call, config, planned);
  if (code == kCudaSuccess) code = conclude(s, call.stream);
  if (code == kCudaSuccess) return Outcome::kDone;
  s.watchdog->stop(kRefused);  // peers may be waiting for what was not enqueued
  return Outcome::kFailed;
}

bool Group::share(void* buffer, uint64_t bytes, std::string& why) {
  try {
    state_->sharedBuffers.emplace_back(state_->cuda, state_->board,
                                       reinterpret_cast<DevicePtr>(buffer), bytes);
    return true;
  } catch (const std::exception& error) {
    why = error.what();
    return false;
  }
}

void Group::unshare(void* buffer) noexcept {
  auto& all = state_->sharedBuffers;
  for (auto it = all.begin(); it != all.end(); ++it)
    if (it->mine() == reinterpret_cast<DevicePtr>(buffer)) {
      all.erase(it);
      return;
    }
}

bool Group::shared(const Call& call) const noexcept {
  const Planned p = planCall(*state_, call, {});
  const bool reads = reduces(call.collective);  // from peers; what is moved is stored into theirs
  const bool stores = call.collective != Collective::kReduceScatter;
  return (!reads || state_->bufferOf(call.send, p.sendBytes) != nullptr) &&
         (!stores || state_->bufferOf(call.recv, p.recvBytes) != nullptr);
}

void Group::stop() noexcept {
  state_->watchdog->stop(kStopped);
}

const char* Group::broken() const noexcept {
  const char* why = state_->watchdog->why();
  return why != nullptr ? why : "";
}

const Arena& Group::arena() const noexcept {
  return state_->arena;
}

}  // namespace autoccl::direct
