#include "agree/shm_links.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr size_t kRingBytes = size_t{1} << 14;
constexpr size_t kMaxQueued = size_t{1} << 20;
constexpr int64_t kLeft = -1;
constexpr int64_t kWatchNs = 5'000'000;  // between looks at a peer's process

/// One direction. Written by one process, read by one other; positions only grow.
struct Ring {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) uint8_t bytes[kRingBytes];
};
struct alignas(64) Seat {
  std::atomic<uint64_t> pidSpace;  // written before pid
  std::atomic<int64_t> pid;        // 0: nobody yet; kLeft: gone in good order
};
struct alignas(64) WordCell {
  std::atomic<uint64_t> value;  // version << 2 | state
};

enum WordState : uint64_t { kIdle = 0, kPrepared = 1, kCommit = 2, kAbort = 3 };

size_t writeRing(Ring& ring, std::span<const uint8_t> bytes) {
  const uint64_t written = ring.written.load(std::memory_order_relaxed);
  const uint64_t used = written - ring.read.load(std::memory_order_acquire);
  const size_t count = used > kRingBytes ? 0 : std::min<size_t>(kRingBytes - used, bytes.size());
  const size_t at = written % kRingBytes;
  const size_t first = std::min(count, kRingBytes - at);
  if (count > 0) std::memcpy(ring.bytes + at, bytes.data(), first);
  if (count > first) std::memcpy(ring.bytes, bytes.data() + first, count - first);
  ring.written.store(written + count, std::memory_order_release);
  return count;
}

/// Everything there is; false where the positions are no ring's (a stray writer).
bool readRing(Ring& ring, FrameReader& reader) {
  const uint64_t read = ring.read.load(std::memory_order_relaxed);
  const uint64_t count = ring.written.load(std::memory_order_acquire) - read;
  if (count > kRingBytes) return false;
  const size_t at = read % kRingBytes;
  const size_t first = std::min<size_t>(count, kRingBytes - at);
  reader.feed({ring.bytes + at, first});
  reader.feed({ring.bytes, count - first});
  ring.read.store(read + count, std::memory_order_release);
  return true;
}

/// The pid namespace of this process; a pid means nothing outside it.
uint64_t ownPidSpace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

int openPidfd(int64_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
}

}  // namespace

struct ShmLinks::Area {
  WordCell* word = nullptr;
  Seat* seats = nullptr;
  Ring* rings = nullptr;  // 2 (w - 1): from rank 0 to worker w; the next: from w to rank 0
};

struct ShmLinks::Peer {
  int rank = 0;
  Seat* seat = nullptr;
  Ring* in = nullptr;
  Ring* out = nullptr;
  FrameWriter writer;
  FrameReader reader;
  std::vector<uint8_t> queue{};
  bool up = false, dead = false, faulty = false, cut = false;
  int pidfd = -1;
  int64_t watchedNs = 0;
};

/// The verdict word of design section 5, rule 4: moved once from PREPARED(v), by whoever is first.
class ShmLinks::Word final : public VerdictWord {
 public:
  explicit Word(WordCell& cell) : cell_(cell.value) {}
  void open(uint64_t version) override {
    cell_.store(version << 2 | kPrepared, std::memory_order_seq_cst);
  }
  bool settle(uint64_t version, bool commit) override {
    uint64_t seen = version << 2 | kPrepared;
    const uint64_t wanted = version << 2 | (commit ? kCommit : kAbort);
    if (cell_.compare_exchange_strong(seen, wanted, std::memory_order_seq_cst)) return commit;
    return seen == (version << 2 | kCommit);
  }
  [[nodiscard]] std::optional<bool> verdict(uint64_t version) const override {
    const uint64_t seen = cell_.load(std::memory_order_seq_cst);
    if (seen == (version << 2 | kCommit)) return true;
    if (seen == (version << 2 | kAbort)) return false;
    return std::nullopt;
  }

 private:
  std::atomic<uint64_t>& cell_;
};

size_t ShmLinks::requiredBytes(int nRanks) {
  const auto n = static_cast<size_t>(nRanks);
  return sizeof(WordCell) + n * sizeof(Seat) + 2 * (n - 1) * sizeof(Ring);
}

ShmLinks::ShmLinks(void* area, size_t bytes, int rank, int nRanks, uint64_t session,
                   const MacKey& key)
    : rank_(rank) {
  if (nRanks < 1 || rank < 0 || rank >= nRanks)
    throw Error(ErrorCode::kUsage,
                "agreement: rank " + std::to_string(rank) + " of " + std::to_string(nRanks),
                "allowed: 0 to ranks - 1");
  if (bytes < requiredBytes(nRanks) || reinterpret_cast<uintptr_t>(area) % 64 != 0)
    throw Error(ErrorCode::kUsage,
                "agreement: the shared area has " + std::to_string(bytes) + " bytes",
                std::to_string(requiredBytes(nRanks)) + " are needed, aligned to 64");
  auto* base = static_cast<std::byte*>(area);
  area_ = std::make_unique<Area>();
  area_->word = reinterpret_cast<WordCell*>(base);
  area_->seats = reinterpret_cast<Seat*>(base + sizeof(WordCell));
  area_->rings =
      reinterpret_cast<Ring*>(base + sizeof(WordCell) + static_cast<size_t>(nRanks) * sizeof(Seat));
  word_ = std::make_unique<Word>(*area_->word);
  const int firstPeer = rank == 0 ? 1 : 0;
  const int lastPeer = rank == 0 ? nRanks - 1 : 0;
  for (int peer = firstPeer; peer <= lastPeer; ++peer) {
    const int worker = std::max(rank, peer);
    Ring* toWorker = area_->rings + ptrdiff_t{2} * (worker - 1);
    const uint64_t down[] = {session, static_cast<uint64_t>(worker), 0};
    const uint64_t up[] = {session, static_cast<uint64_t>(worker), 1};
    const MacKey downKey = deriveKey(key, down);
    const MacKey upKey = deriveKey(key, up);
    const bool leading = rank == 0;
    peers_.push_back(std::make_unique<Peer>(
        Peer{peer, area_->seats + peer, leading ? toWorker + 1 : toWorker,
             leading ? toWorker : toWorker + 1, FrameWriter(leading ? downKey : upKey, session),
             FrameReader(leading ? upKey : downKey, session)}));
  }
  area_->seats[rank].pidSpace.store(ownPidSpace(), std::memory_order_relaxed);
  area_->seats[rank].pid.store(getpid(), std::memory_order_release);
}

ShmLinks::~ShmLinks() {
  area_->seats[rank_].pid.store(kLeft, std::memory_order_release);
  for (auto& peer : peers_)
    if (peer->pidfd >= 0) close(peer->pidfd);
}

VerdictWord* ShmLinks::word() {
  return word_.get();
}

ShmLinks::Peer* ShmLinks::peerOf(int rank) {
  for (auto& peer : peers_)
    if (peer->rank == rank) return peer.get();
  return nullptr;
}

void ShmLinks::cut(int peer, bool cut) {
  if (Peer* p = peerOf(peer)) p->cut = cut;
}

void ShmLinks::flush(Peer& peer) {
  if (peer.queue.empty() || peer.cut) return;
  const size_t count = writeRing(*peer.out, peer.queue);
  peer.queue.erase(peer.queue.begin(), peer.queue.begin() + static_cast<ptrdiff_t>(count));
}

bool ShmLinks::send(int to, const Message& message) {
  Peer* peer = peerOf(to);
  if (!peer || peer->dead || peer->faulty) return false;
  const Packed packed = pack(message);
  if (peer->queue.size() + packed.body.size() > kMaxQueued) return false;
  const bool queued = peer->writer.append(peer->queue, packed.type, packed.body);
  flush(*peer);
  return queued;
}

void ShmLinks::watch(Peer& peer, int64_t nowNs, std::vector<LinkEvent>& events) {
  if (nowNs - peer.watchedNs < kWatchNs) return;
  peer.watchedNs = nowNs;
  const int64_t pid = peer.seat->pid.load(std::memory_order_acquire);
  if (pid == kLeft) {
    peer.dead = true;
    events.push_back({LinkEvent::Kind::kLeft, peer.rank, {}, {}});
    return;
  }
  if (pid == 0 || pid == getpid() || peer.seat->pidSpace != ownPidSpace()) return;
  bool gone = false;
  if (peer.pidfd < 0) {
    peer.pidfd = openPidfd(pid);
    gone = peer.pidfd < 0 && errno == ESRCH;
  }
  pollfd watched{peer.pidfd, POLLIN, 0};
  gone = gone || (peer.pidfd >= 0 && ::poll(&watched, 1, 0) == 1);
  if (!gone) return;
  peer.dead = true;
  events.push_back({LinkEvent::Kind::kDied, peer.rank, {}, {}});
}

void ShmLinks::receive(Peer& peer, std::vector<LinkEvent>& events) {
  std::string why = readRing(*peer.in, peer.reader) ? "" : "its ring is damaged";
  while (const auto frame = peer.reader.next()) {
    auto message = unpack(frame->type, frame->body);
    if (!message) {
      why = "message of type " + std::to_string(frame->type) + " that this version cannot read";
      break;
    }
    events.push_back({LinkEvent::Kind::kMessage, peer.rank, std::move(*message), {}});
  }
  if (why.empty()) why = peer.reader.fault();
  if (why.empty()) return;
  peer.faulty = true;
  events.push_back({LinkEvent::Kind::kFault, peer.rank, {}, std::move(why)});
}

void ShmLinks::poll(int64_t nowNs, std::vector<LinkEvent>& events) {
  for (auto& owned : peers_) {
    Peer& peer = *owned;
    if (peer.dead) continue;
    if (!peer.up && peer.seat->pid.load(std::memory_order_acquire) != 0) {
      peer.up = true;
      events.push_back({LinkEvent::Kind::kUp, peer.rank, {}, {}});
    }
    flush(peer);
    if (!peer.faulty && !peer.cut) receive(peer, events);
    watch(peer, nowNs, events);  // after receive: what a dead rank said last still counts
  }
}

}  // namespace autoccl
