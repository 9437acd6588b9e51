// What lies where in a communicator's shared segment.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/call.h"
#include "transport/regions.h"
#include "transport/wait.h"

namespace autoccl {

inline constexpr int kMaxRanks = 64;          // of one communicator, on one host
inline constexpr int kMaxLanes = 32;          // NC
inline constexpr int kMaxWorkers = 64;        // NC x NT
inline constexpr size_t kSmallBytes = 16384;  // a rank's contribution that travels beside its entry
inline constexpr int kStageSlots = 4;         // rounds of the staged path in flight

/// What a rank says when it enters a call. The flag holds the number of the last call entered
/// through this slot. All on one cache line, which a waiting peer gets in one transfer with the
/// flag: written before that is raised.
struct alignas(64) Entry {
  FlagWord flag;
  uint64_t terms = 0;  // hashOf(Terms)
  uint64_t sendAddress = 0;
  uint64_t recvAddress = 0;
  uint32_t sendRegion = 0;  // 0: ordinary memory; kUnusedBuffer: no such buffer in this call
  uint32_t recvRegion = 0;
  double scale = 1;
  int64_t arrivedNs = 0;
  bool inPlace = false;
};
static_assert(sizeof(Entry) == 64);
inline constexpr uint32_t kUnusedBuffer = UINT32_MAX;

/// Two slots per rank, used in turn: nobody reaches call k + 2 before everybody has entered k + 1,
/// that is, has left k.
struct alignas(128) EntrySlot {
  Entry entry;
  alignas(64) Terms terms;  // written only where they have changed: the line stays where it is
};

/// What a rank says once, when it joins.
struct alignas(64) RankInfo {
  pid_t pid = 0;
  uint64_t probe = 0;  // address of a word with the session's number, for the test of CMA
  RegionServerAddress server;
  cpu_set_t allowed{};
  std::atomic<uint32_t> leftCall{0};  // number of the last call that this rank has left
};

/// Chunks of a lane are claimed from `claim`: call number in the upper half, next tile in the
/// lower.
struct alignas(64) Lane {
  std::atomic<uint64_t> claim{0};
  Flag done;  // tiles done since the communicator began (wraps)
};

/// Rounds that a rank's worker has staged in and out since the communicator began (wrap).
struct StageFlags {
  Flag in;
  Flag out;
};

struct alignas(64) Control {
  std::atomic<uint32_t> epoch{0};      // not 0: broken; every wait and claim ends
  std::atomic<int32_t> brokenBy{0};    // 1 + the rank that said so
  std::atomic<int32_t> brokenCode{0};  // its ErrorCode
  std::atomic<uint32_t> cmaDenied{0};  // some rank may not read some other
  std::atomic<uint32_t> finalized{0};  // ranks that have finalized
  Flag joined;
  Flag probed;
};

/// Computes the places. Two views with equal arguments agree, in whichever process. The memory is
/// zero at the start, which is the initial state of everything in it. Thread-compatible.
class Layout {
 public:
  Layout(int nRanks, size_t sharedAreaBytes, size_t wireBytes);

  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] uint64_t fingerprint() const noexcept;
  [[nodiscard]] size_t stageBytes() const noexcept { return stageBytes_; }  // of one rank
  [[nodiscard]] size_t mailBytes() const noexcept { return mailBytes_; }    // of one ordered pair
  void place(std::byte* base) noexcept { base_ = base; }

  [[nodiscard]] Control& control() const noexcept { return *at<Control>(0); }
  [[nodiscard]] RankInfo& info(int rank) const noexcept { return at<RankInfo>(infos_)[rank]; }
  [[nodiscard]] EntrySlot& entry(uint32_t call, int rank) const noexcept {
    return at<EntrySlot>(entries_)[static_cast<int>(call & 1) * nRanks_ + rank];
  }
  [[nodiscard]] Flag& finished(int rank) const noexcept { return at<Flag>(finished_)[rank]; }
  [[nodiscard]] Lane& lane(int i) const noexcept { return at<Lane>(lanes_)[i]; }
  [[nodiscard]] StageFlags& stageFlags(int rank, int worker) const noexcept {
    return at<StageFlags>(stageFlags_)[rank * kMaxWorkers + worker];
  }
  /// The four arrays of AllToAllv of one rank, nRanks values each.
  [[nodiscard]] size_t* counts(uint32_t call, int rank) const noexcept {
    return at<size_t>(counts_) +
           pairIndex(static_cast<int>(call & 1), rank) * 4 * static_cast<size_t>(nRanks_);
  }
  [[nodiscard]] std::byte* small(uint32_t call, int rank) const noexcept {
    return base_ + small_ + pairIndex(static_cast<int>(call & 1), rank) * kSmallBytes;
  }
  [[nodiscard]] std::byte* stage(int rank) const noexcept {
    return base_ + stage_ + static_cast<size_t>(rank) * stageBytes_;
  }
  [[nodiscard]] std::byte* mail(int from, int to) const noexcept {
    return base_ + mail_ + pairIndex(from, to) * mailBytes_;
  }
  [[nodiscard]] std::byte* wires() const noexcept { return base_ + wires_; }
  [[nodiscard]] std::byte* sharedArea() const noexcept { return base_ + sharedArea_; }

 private:
  /// Place of (row, column) in a table with a column for each rank.
  [[nodiscard]] size_t pairIndex(int row, int column) const noexcept {
    return static_cast<size_t>(row) * static_cast<size_t>(nRanks_) + static_cast<size_t>(column);
  }
  template <class T>
  [[nodiscard]] T* at(size_t offset) const noexcept {
    return reinterpret_cast<T*>(base_ + offset);
  }
  size_t take(size_t bytes) noexcept;

  int nRanks_;
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  size_t stageBytes_ = 0, mailBytes_ = 0;
  size_t infos_ = 0, entries_ = 0, finished_ = 0, lanes_ = 0, stageFlags_ = 0, counts_ = 0,
         small_ = 0, stage_ = 0, mail_ = 0, wires_ = 0, sharedArea_ = 0;
};

}  // namespace autoccl
