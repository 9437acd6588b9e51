#include "direct/board.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace autoccl::direct {
namespace {

constexpr uint64_t kLayout = 0x0d13ec700000001;  // changes with Post

std::shared_ptr<Segment> join(const UniqueId& id, int rank, int nRanks, int64_t timeoutNs,
                              size_t bytes) {
  JoinRequest request;
  request.id = id;
  request.rank = rank;
  request.nRanks = nRanks;
  request.bytes = bytes;
  request.layout = kLayout ^ bytes;
  request.timeoutNs = timeoutNs;
  return joinSegment(request);
}

}  // namespace

void Post::fail(const std::string& reason) {
  const size_t length = std::min(reason.size(), why.size() - 1);
  std::copy_n(reason.data(), length, why.data());
  why[length] = '\0';
}

Board::Board(const UniqueId& id, int rank, int nRanks, int64_t timeoutNs)
    : segment_(join(id, rank, nRanks, timeoutNs, sizeof(Shared))),
      rank_(rank),
      nRanks_(nRanks),
      timeoutNs_(timeoutNs) {}

const Post* Board::meet(const Post& mine, int64_t timeoutNs) {
  auto* shared = reinterpret_cast<Shared*>(segment_->mapping.data());
  Turn& turn = shared->turns[meetings_++ % 2];
  turn.posts[static_cast<size_t>(rank_)] = mine;
  turn.posted[static_cast<size_t>(rank_)].store(meetings_, std::memory_order_release);
  const int64_t deadline = nowNs() + timeoutNs;
  for (int r = 0; r < nRanks_; ++r) {
    const auto& posted = turn.posted[static_cast<size_t>(r)];
    while (posted.load(std::memory_order_acquire) < meetings_) {
      if (nowNs() > deadline)
        throw Error(ErrorCode::kTimeout, "rank " + std::to_string(r) +
                                             " did not take part in setting up the GPUs' group");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  for (int r = 0; r < nRanks_; ++r) {
    const Post& post = turn.posts[static_cast<size_t>(r)];
    if (post.why[0] != '\0')
      throw Error(ErrorCode::kSystem, "rank " + std::to_string(r) + ": " + post.why.data());
  }
  return turn.posts.data();
}

}  // namespace autoccl::direct
