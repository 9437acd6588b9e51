#include "direct/peer_memory.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include "base/error.h"

namespace autoccl::direct {
namespace {

/// The device of this process with that bus id, or -1: it may be hidden from us.
int deviceAt(const Cuda& cuda, const char* busId) {
  int count = 0;
  if (cuda.deviceGetCount(&count) != kCudaSuccess) return -1;
  for (int i = 0; i < count; ++i) {
    int device = -1;
    std::array<char, 32> id{};
    if (cuda.deviceGet(&device, i) == kCudaSuccess &&
        cuda.deviceGetPciBusId(id.data(), int(id.size()), device) == kCudaSuccess &&
        std::strcmp(id.data(), busId) == 0)
      return device;
  }
  return -1;
}

}  // namespace

void enablePeers(const Cuda& cuda, const Post* posts, const Board& board, Post& result) {
  for (int r = 0; r < board.nRanks(); ++r) {
    const Post& post = posts[r];
    if (r == board.rank() || post.pid != getpid()) continue;
    const int device = deviceAt(cuda, post.device.busId.data());
    CudaContext context = nullptr;
    int code = device < 0 ? kCudaSuccess : cuda.primaryContextRetain(&context, device);
    if (context != nullptr) code = cuda.contextEnablePeer(context, 0);
    if (device >= 0 && (code == kCudaSuccess || code == kPeerAccessAlready)) continue;
    return result.fail("its GPU has no peer access to rank " + std::to_string(r) + "'s (" +
                       cuda.textOf(code) + ")");
  }
}

PeerMemory::PeerMemory(const Cuda& cuda, Board& board, DevicePtr mine, uint64_t bytes)
    : cuda_(cuda), rank_(board.rank()), nRanks_(board.nRanks()), mine_(mine), bytes_(bytes) {
  Post post;
  post.pid = getpid();
  exportTo(post);
  const Post* posts = board.meet(post);
  Post result;
  open(posts, result);
  try {
    board.meet(result);
  } catch (...) {
    close();
    throw;
  }
}

PeerMemory::~PeerMemory() {
  close();
}

void PeerMemory::exportTo(Post& post) const {
  DevicePtr base = 0;
  size_t whole = 0;
  int code = cuda_.memoryRange(&base, &whole, mine_);
  if (code == kCudaSuccess) code = cuda_.ipcExport(&post.handle, base);
  if (code != kCudaSuccess)
    return post.fail("its memory cannot be shared with other processes (" + cuda_.textOf(code) +
                     ")");
  if (mine_ - base + bytes_ > whole) return post.fail("its buffer spans several allocations");
  post.offset = mine_ - base;
  post.address = mine_;
  post.bytes = bytes_;
}

void PeerMemory::open(const Post* posts, Post& result) {
  for (int r = 0; r < nRanks_; ++r) {
    const auto at = static_cast<size_t>(r);
    const Post& post = posts[r];
    if (post.bytes != bytes_)
      return result.fail("its buffer and rank " + std::to_string(r) + "'s differ in size");
    if (r == rank_ || post.pid == getpid()) {
      at_[at] = reinterpret_cast<char*>(post.address);
      continue;
    }
    const int code = cuda_.ipcOpen(&opened_[at], post.handle, kIpcLazyPeerAccess);
    if (code != kCudaSuccess) {
      opened_[at] = 0;
      return result.fail("it cannot map rank " + std::to_string(r) + "'s memory (" +
                         cuda_.textOf(code) + ")");
    }
    at_[at] = reinterpret_cast<char*>(opened_[at] + post.offset);
  }
}

void PeerMemory::close() noexcept {
  for (DevicePtr& opened : opened_) {
    if (opened != 0) cuda_.ipcClose(opened);
    opened = 0;
  }
}

}  // namespace autoccl::direct
