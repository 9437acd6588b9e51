#include "direct/group_state.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/log.h"

namespace autoccl::direct {
namespace {

constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
constexpr int64_t kLeaving = 2'000'000'000;
constexpr uint64_t kFreeFactor = 2;  // the arena may take half of what is free

const Cuda& driver() {
  const Cuda* cuda = Cuda::find(false);
  if (cuda == nullptr)
    throw Error(ErrorCode::kSystem, "this process has no CUDA driver loaded (libcuda.so.1)");
  return *cuda;
}

}  // namespace

GroupState::GroupState(const Seat& seat)
    : cuda(driver()),
      board(seat.meeting, seat.rank, seat.nRanks, seat.timeoutNs),
      rank(seat.rank),
      nRanks(seat.nRanks),
      arena(Arena::plan(seat.memory, seat.nRanks)) {
  try {
    Post post;
    try {
      say("meets the others");
      facts(post);
      make(post, seat);
    } catch (const std::exception& error) {
      post.fail(error.what());
    }
    say("has its memory and kernels");
    const Post* posts = board.meet(post);
    meetPeers(posts);
    say("has the others' memory mapped");
    tryWords();
    watchdog->start();
    say("is ready");
  } catch (...) {
    release();
    throw;
  }
}

GroupState::~GroupState() {
  CudaContext before = nullptr;
  cuda.contextGetCurrent(&before);
  cuda.contextSetCurrent(context);
  if (anyCall) cuda.eventSynchronize(lastCall);
  const bool whole = watchdog->why() == nullptr;
  sharedBuffers.clear();
  peers.reset();
  if (whole) try {
      board.meet({}, kLeaving);  // memory goes once nobody has it mapped
    } catch (const std::exception&) {
      logLine(LogLevel::kDebug, "a rank left the GPUs' group without a word");
    }
  release();
  cuda.contextSetCurrent(before);
}

void GroupState::say(const char* what) const {
  if (logLevel() < LogLevel::kDebug) return;
  logLine(LogLevel::kDebug, "GPU engine: rank " + std::to_string(rank) + " of " +
                                std::to_string(nRanks) + " " + what);
}

void GroupState::release() noexcept {
  watchdog.reset();
  sharedBuffers.clear();
  peers.reset();
  kernels.reset();
  for (CudaEvent* event : {&forked, &joined, &lastCall})
    if (*event != nullptr) cuda.eventDestroy(*event);
  if (side != nullptr) cuda.streamDestroy(side);
  if (memory != 0) cuda.memoryFree(memory);
  memory = 0;
}

void GroupState::facts(Post& post) const {
  post.pid = getpid();
  int device = -1;
  cuda.check(cuda.contextGetDevice(&device), "asking for the current GPU");
  DeviceFacts& d = post.device;
  cuda.check(cuda.deviceGetName(d.name.data(), int(d.name.size()), device), "asking for its name");
  cuda.check(cuda.deviceGetPciBusId(d.busId.data(), int(d.busId.size()), device),
             "asking for its bus");
  cuda.deviceGetAttribute(&d.major, kMajor, device);
  cuda.deviceGetAttribute(&d.minor, kMinor, device);
  if (std::strstr(d.name.data(), "MIG") != nullptr) post.fail("its GPU is a MIG slice");
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  if (connections != nullptr && std::strcmp(connections, "1") == 0)
    post.fail(
        "CUDA_DEVICE_MAX_CONNECTIONS=1 puts all streams in one queue, where a wait for a peer "
        "would "
        "block what the peer waits for");
}

void GroupState::make(Post& post, const Seat& seat) {
  if (post.why[0] != '\0') return;
  cuda.check(cuda.contextGetCurrent(&context), "asking for the current context");
  size_t free = 0, total = 0;
  cuda.check(cuda.memoryInfo(&free, &total), "asking for free GPU memory");
  post.device.memory = total;
  if (free < kFreeFactor * arena.bytes)
    return post.fail("its GPU has " + std::to_string(free >> 20) + " MiB free, and the engine's " +
                     std::to_string(arena.bytes >> 20) +
                     " MiB may take half of that; lower AUTOCCL_DIRECT_MEMORY");
  kernels = std::make_unique<Kernels>(cuda, seat.image);
  cuda.check(cuda.memoryAlloc(&memory, arena.bytes), "allocating the engine's GPU memory");
  cuda.check(cuda.fill(memory, 0, arena.bytes), "clearing the engine's GPU memory");
  for (CudaEvent* event : {&forked, &joined, &lastCall})
    cuda.check(cuda.eventCreate(event, kEventNoTiming), "making an event");
  cuda.check(cuda.streamCreate(&side, kStreamNonBlocking, 0), "making a stream");
  watchdog = std::make_unique<Watchdog>(
      Watchdog::Watched{&cuda, context, arena, memory, rank, nRanks}, counts);
  post.streams = tryStreams();
  cuda.check(cuda.contextSynchronize(), "waiting for the GPU");
}

/// A write and a wait on our own flag, both of which some machines refuse.
bool GroupState::tryStreams() const {
  const DevicePtr flag = memory + arena.streamFlag(StreamFlag::kEntry, uint32_t(rank));
  return cuda.streamWrite(side, flag, 1, 0) == kCudaSuccess &&
         cuda.streamWait(side, flag, 1, kWaitGeq) == kCudaSuccess &&
         cuda.streamSynchronize(side) == kCudaSuccess;
}

void GroupState::meetPeers(const Post* posts) {
  Post result;
  streamsWork = true;
  for (int r = 0; r < nRanks; ++r) {
    const DeviceFacts &mine = posts[rank].device, &theirs = posts[r].device;
    streamsWork = streamsWork && posts[r].streams;
    if (mine.name != theirs.name || mine.major != theirs.major || mine.minor != theirs.minor)
      result.fail("its GPU (" + std::string(mine.name.data()) + ") and rank " + std::to_string(r) +
                  "'s (" + theirs.name.data() + ") differ");
    if (r != rank && posts[r].pid == getpid() && mine.busId == theirs.busId)
      result.fail("it shares its GPU with rank " + std::to_string(r) + " of the same process");
    if (posts[r].pid != getpid()) watchdog->watch(r, posts[r].pid);
  }
  if (result.why[0] == '\0') enablePeers(cuda, posts, board, result);
  board.meet(result);
  peers = std::make_unique<PeerMemory>(cuda, board, memory, arena.bytes);
  members.rank = static_cast<uint32_t>(rank);
  members.nRanks = static_cast<uint32_t>(nRanks);
  for (int r = 0; r < nRanks; ++r) members.arenas[r] = peers->of(r);
  members.stop = watchdog->word();
}

/// Every rank writes a word to every other: a mapping that is not what it seems shows here.
void GroupState::tryWords() {
  const auto wordOf = [](int from, int to) {
    return 0xacc1000000000000u + uint64_t(from) * 64 + uint64_t(to);
  };
  const auto flagOf = [&](int owner, int from) {
    return reinterpret_cast<DevicePtr>(
        members.flag(uint32_t(owner), FlagKind::kExit, kMaxBlocks - 1, uint32_t(from)));
  };
  Post result;
  for (int r = 0; r < nRanks; ++r) {
    const uint64_t word = wordOf(rank, r);
    if (r != rank && cuda.copyToDevice(flagOf(r, rank), &word, sizeof word) != kCudaSuccess)
      result.fail("it cannot write to rank " + std::to_string(r) + "'s memory");
  }
  if (cuda.contextSynchronize() != kCudaSuccess)  // a copy returns before it has arrived
    result.fail("its words to the others could not be written");
  board.meet(result);
  for (int r = 0; r < nRanks; ++r) {
    uint64_t word = 0, none = 0;
    if (r == rank) continue;
    cuda.copyToHost(&word, flagOf(rank, r), sizeof word);
    if (word != wordOf(r, rank))
      result.fail("what rank " + std::to_string(r) + " writes to its memory does not arrive");
    cuda.copyToDevice(flagOf(rank, r), &none, sizeof none);
  }
  cuda.contextSynchronize();
  board.meet(result);
}

const PeerMemory* GroupState::bufferOf(const void* at, uint64_t bytes) const noexcept {
  const auto begin = reinterpret_cast<DevicePtr>(at);
  for (const PeerMemory& buffer : sharedBuffers)
    if (begin >= buffer.mine() && begin + bytes <= buffer.mine() + buffer.bytes()) return &buffer;
  return nullptr;
}

}  // namespace autoccl::direct
