// A rank of the group that shows what this host's memory allows: the bytes that a collective must
// move, moved by all cores at once, with no rank waiting for another inside the timed part.
//
// Every byte that the collective reads is read once and every byte that it writes is written once,
// straight between the ranks' buffers. config "plain" uses ordinary stores on all cores, "nt"
// non-temporal ones, "one" ordinary stores on one core only, which is cheaper where the lines to be
// moved lie in the cores' own caches. The fastest is the bound. The collective "barrier" passes a
// cache line to and fro between ranks 0 and 1 instead, kHandOvers one-way passes a call.
#include "bench/limit.h"

#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "base/error.h"
#include "bench/worker.h"

namespace autoccl::bench {
namespace {

/// Where the ranks tell each other about their buffers; lies in Control::text, zero at first.
struct Registry {
  struct Entry {
    pid_t process;
    int fd;
    size_t bytes;
  };
  Flag met;
  Flag ping;
  Flag pong;
  Entry entries[kMaxRanks][2];
};
static_assert(sizeof(Registry) <= kTextBytes);

/// All destinations become the sum of the sources.
struct Tile {
  std::vector<const float*> sources;
  std::vector<float*> destinations;
  size_t count = 0;
};

bool aligned(const Tile& t, size_t from) {
  for (float* d : t.destinations)
    if (reinterpret_cast<uintptr_t>(d + from) % 32 != 0) return false;
  return true;
}

constexpr size_t kLine = 16;  // floats of a cache line

/// Whole lines of [from, to). A count of sources or destinations of 0 means: as many as the tile
/// has.
template <size_t kSources, size_t kDestinations, bool kNonTemporal>
void moveLines(const Tile& t, size_t from, size_t to) {
  const size_t sources = kSources ? kSources : t.sources.size();
  const size_t destinations = kDestinations ? kDestinations : t.destinations.size();
  std::array<const float*, kMaxRanks> in;
  std::array<float*, kMaxRanks> out;
  std::copy_n(t.sources.begin(), sources, in.begin());
  std::copy_n(t.destinations.begin(), destinations, out.begin());
  for (size_t i = from; i < to; i += kLine) {
    __m256 low = _mm256_loadu_ps(in[0] + i);
    __m256 high = _mm256_loadu_ps(in[0] + i + 8);
    for (size_t s = 1; s < sources; ++s) {
      low = _mm256_add_ps(low, _mm256_loadu_ps(in[s] + i));
      high = _mm256_add_ps(high, _mm256_loadu_ps(in[s] + i + 8));
    }
    for (size_t d = 0; d < destinations; ++d) {
      kNonTemporal ? _mm256_stream_ps(out[d] + i, low) : _mm256_storeu_ps(out[d] + i, low);
      kNonTemporal ? _mm256_stream_ps(out[d] + i + 8, high)
                   : _mm256_storeu_ps(out[d] + i + 8, high);
    }
  }
}

template <bool kNonTemporal>
void moveWhole(const Tile& t, size_t from, size_t to) {
  const size_t sources = t.sources.size(), destinations = t.destinations.size();
  if (sources == 1 && destinations == 1) return moveLines<1, 1, kNonTemporal>(t, from, to);
  if (sources == 1 && destinations == 2) return moveLines<1, 2, kNonTemporal>(t, from, to);
  if (sources == 2 && destinations == 1) return moveLines<2, 1, kNonTemporal>(t, from, to);
  if (sources == 2 && destinations == 2) return moveLines<2, 2, kNonTemporal>(t, from, to);
  if (sources == 4 && destinations == 4) return moveLines<4, 4, kNonTemporal>(t, from, to);
  moveLines<0, 0, kNonTemporal>(t, from, to);
}

void moveRange(const Tile& t, size_t from, size_t to, bool nonTemporal) {
  const size_t whole = from + (to - from) / kLine * kLine;
  if (nonTemporal && aligned(t, from)) {
    moveWhole<true>(t, from, whole);
    _mm_sfence();
  } else {
    moveWhole<false>(t, from, whole);
  }
  for (size_t i = whole; i < to; ++i) {
    float sum = 0;
    for (const float* s : t.sources) sum += s[i];
    for (float* d : t.destinations) d[i] = sum;
  }
}

/// The ranks' buffers, mapped here: [rank][0] is what `send` is there, [rank][1] what `receive` is.
using Memories = std::array<std::array<float*, 2>, kMaxRanks>;

/// What a collective moves, as tiles of the ranks' buffers.
std::vector<Tile> tilesOf(const CallShape& c, size_t n, const Memories& memory) {
  std::vector<Tile> tiles;
  const auto in = [&](size_t rank, size_t at) -> const float* { return memory[rank][0] + at; };
  const auto out = [&](size_t rank, size_t at) { return memory[rank][1] + at; };
  const auto allIn = [&](size_t at) {
    std::vector<const float*> all;
    for (size_t r = 0; r < n; ++r) all.push_back(in(r, at));
    return all;
  };
  const auto everywhere = [&](size_t firstRank, size_t at, size_t which) {
    std::vector<float*> all;
    for (size_t r = firstRank; r < n; ++r) all.push_back(memory[r][which] + at);
    return all;
  };
  for (size_t b = 0; b < n; ++b) {
    const size_t at = b * c.part;
    switch (c.collective) {
      case Collective::kAllReduce:
        tiles.push_back({allIn(at), everywhere(0, at, 0), c.part});
        break;
      case Collective::kReduce:
        tiles.push_back({allIn(at), {memory[0][0] + at}, c.part});
        break;
      case Collective::kBroadcast:
        tiles.push_back({{in(0, at)}, everywhere(1, at, 0), c.part});
        break;
      case Collective::kAllGather:
        tiles.push_back({{in(b, 0)}, everywhere(0, at, 1), c.part});
        break;
      case Collective::kReduceScatter:
        tiles.push_back({allIn(at), {out(b, 0)}, c.part});
        break;
      case Collective::kGather:
        tiles.push_back({{in(b, 0)}, {out(0, at)}, c.part});
        break;
      case Collective::kScatter:
        tiles.push_back({{in(0, at)}, {out(b, 0)}, c.part});
        break;
      case Collective::kAllToAll:
        for (size_t d = 0; d < n; ++d) tiles.push_back({{in(b, d * c.part)}, {out(d, at)}, c.part});
        break;
      default:
        break;
    }
  }
  return tiles;
}

/// Threads beside the rank's own, one for each further core it may use; they spin between calls of
/// a command and sleep between commands.
class Movers {
 public:
  explicit Movers(const std::vector<int>& cores) {
    for (size_t i = 1; i < cores.size(); ++i)
      threads_.emplace_back([this, i] { work(static_cast<uint32_t>(i)); });
  }
  ~Movers() {
    ending_ = true;
    raise(go_, ++turn_);
    for (std::thread& t : threads_) t.join();
  }
  Movers(const Movers&) = delete;
  Movers& operator=(const Movers&) = delete;

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(threads_.size()) + 1; }
  /// Runs share(0) here and share(1..count-1) on the others; returns when all are done.
  void run(const std::function<void(uint32_t)>& share) {
    share_ = &share;
    const uint32_t target = done_.value.load() + static_cast<uint32_t>(threads_.size());
    raise(go_, ++turn_);
    share(0);
    WaitRules rules;
    rules.policy = WaitPolicy::kSpin;
    (void)waitFor(done_, target, rules);
  }

 private:
  void work(uint32_t index) {
    WaitRules rules;
    rules.spins = 200'000;
    for (uint32_t turn = 1; waitFor(go_, turn, rules) && !ending_; ++turn) {
      (*share_)(index);
      add(done_, 1);
    }
  }
  Flag go_;
  Flag done_;
  uint32_t turn_ = 0;
  std::atomic<bool> ending_{false};
  const std::function<void(uint32_t)>* share_ = nullptr;
  std::vector<std::thread> threads_;
};

class Limit final : public Library {
 public:
  Limit(Control& control, const Place& place)
      : place_(place),
        registry_(*reinterpret_cast<Registry*>(control.text.data())),
        active_(std::min<uint32_t>(control.nRanks, control.cores)),
        movers_(allowedCores()) {
    rules_.alive = [](void* c) noexcept { return !conductorGone(*static_cast<Control*>(c)); };
    rules_.aliveContext = &control;
  }

  void* allocate(size_t bytes) override {
    Registry::Entry& entry = registry_.entries[place_.rank][allocations_++ % 2];
    const int fd = memfd_create("autoccl-bench-limit", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
      throw Error(ErrorCode::kSystem,
                  "cannot make shared memory of " + std::to_string(bytes) + " bytes");
    entry = {getpid(), fd, bytes};
    void* memory = mapShared(fd, bytes);
    files_[memory] = fd;
    return memory;
  }
  void release(void* memory, size_t bytes) noexcept override {
    munmap(memory, bytes);
    const auto file = files_.find(memory);
    if (file == files_.end()) return;
    close(file->second);
    files_.erase(file);
  }

  void prepare(const Command& command, const CallShape& c) override {
    config_ = command.config.data();
    meet();  // all have written their entries
    for (int r = 0; r < place_.nRanks; ++r)
      for (int which = 0; which < 2; ++which) attach(r, which);
    tiles_ = tilesOf(c, static_cast<size_t>(place_.nRanks), memories_);
  }

  void call(const CallShape& c) override {
    if (c.collective == Collective::kBarrier) return passToAndFro();
    const uint32_t active = config_ == "one" ? 1 : active_;
    if (static_cast<uint32_t>(place_.rank) >= active) return;
    const bool nonTemporal = config_ == "nt";
    const uint32_t own = config_ == "one" ? 1 : movers_.count();
    const uint32_t all = own * active;
    const std::function<void(uint32_t)> share = [&](uint32_t index) {
      const size_t me = static_cast<size_t>(place_.rank) * own + index;
      for (const Tile& t : tiles_) {
        const size_t piece = (t.count / all + 15) / 16 * 16;
        const size_t from = std::min(t.count, me * piece);
        const size_t to = me + 1 == all ? t.count : std::min(t.count, from + piece);
        moveRange(t, from, to, nonTemporal);
      }
    };
    own == 1 ? share(0) : movers_.run(share);
  }
  void settle() override { meet(); }
  std::string configInEffect() override { return config_; }

 private:
  static void* mapShared(int fd, size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (at == MAP_FAILED)
      throw Error(ErrorCode::kSystem, "cannot map " + std::to_string(bytes) + " bytes");
    return at;
  }
  void meet() {
    add(registry_.met, 1);
    if (!waitFor(registry_.met, ++meetings_ * static_cast<uint32_t>(place_.nRanks), rules_))
      throw Error(ErrorCode::kRemote, "the conductor is gone");
  }
  void attach(int rank, int which) {
    Registry::Entry& known = known_[static_cast<size_t>(rank)][static_cast<size_t>(which)];
    const Registry::Entry& now = registry_.entries[rank][which];
    if (known.fd == now.fd && known.bytes == now.bytes) return;
    float*& memory = memories_[static_cast<size_t>(rank)][static_cast<size_t>(which)];
    if (memory) munmap(memory, known.bytes);
    const std::string path =
        "/proc/" + std::to_string(now.process) + "/fd/" + std::to_string(now.fd);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) throw Error(ErrorCode::kSystem, "cannot open " + path);
    memory = static_cast<float*>(mapShared(fd, now.bytes));
    close(fd);
    known = now;
  }
  void passToAndFro() {
    if (place_.rank > 1) return;
    Flag& mine = place_.rank == 0 ? registry_.ping : registry_.pong;
    Flag& theirs = place_.rank == 0 ? registry_.pong : registry_.ping;
    WaitRules rules = rules_;
    rules.policy = WaitPolicy::kSpin;
    for (int i = 0; i < kHandOvers / 2; ++i) {
      ++passes_;
      if (place_.rank == 0) mine.value.store(passes_, std::memory_order_release);
      if (!waitFor(theirs, passes_, rules)) return;
      if (place_.rank == 1) mine.value.store(passes_, std::memory_order_release);
    }
  }

  Place place_;
  Registry& registry_;
  uint32_t active_;
  Movers movers_;
  WaitRules rules_;
  Memories memories_{};
  std::array<std::array<Registry::Entry, 2>, kMaxRanks> known_{};
  std::vector<Tile> tiles_;
  std::map<void*, int> files_;  // memfd of each allocation of this rank
  std::string config_;
  uint32_t allocations_ = 0;
  uint32_t meetings_ = 0;
  uint32_t passes_ = 0;
};

}  // namespace
}  // namespace autoccl::bench

int main() {
  using namespace autoccl::bench;
  return workerMain("autoccl-bench-limit", [](Control& control, const Place& place) {
    return std::make_unique<Limit>(control, place);
  });
}
