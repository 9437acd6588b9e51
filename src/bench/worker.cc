#include "bench/worker.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "bench/load.h"
#include "bench/pattern.h"

namespace autoccl::bench {
namespace {

constexpr int kLoadLeadMs = 4;  // the load runs this long before the first call

void* mapPages(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    throw Error(ErrorCode::kSystem,
                "bench worker: no memory for " + std::to_string(bytes) + " bytes",
                "use smaller --sizes or fewer ranks");
  std::memset(at, 0, bytes);
  return at;
}

/// A pair of buffers of one kind that only ever grow.
class Buffers {
 public:
  Buffers(Library& library, bool registered) : library_(library), registered_(registered) {}
  ~Buffers() { drop(); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  float* first(size_t bytes) { return grow(bytes), static_cast<float*>(memory_[0]); }
  float* second(size_t bytes) { return grow(bytes), static_cast<float*>(memory_[1]); }

 private:
  void grow(size_t bytes) {
    if (bytes <= bytes_) return;
    drop();
    for (void*& m : memory_) m = registered_ ? library_.allocate(bytes) : mapPages(bytes);
    bytes_ = bytes;
  }
  void drop() noexcept {
    for (void*& m : memory_) {
      if (m && registered_) library_.release(m, bytes_);
      if (m && !registered_) munmap(m, bytes_);
      m = nullptr;
    }
    bytes_ = 0;
  }
  Library& library_;
  bool registered_;
  void* memory_[2] = {nullptr, nullptr};
  size_t bytes_ = 0;
};

/// The commands of one rank.
class Rank {
 public:
  Rank(Control& control, const Place& place, Library& library)
      : control_(control),
        place_(place),
        library_(library),
        ordinary_(library, false),
        registered_(library, true) {}

  void obey(const Command& command) {
    RankReply& reply = control_.replies[static_cast<size_t>(place_.rank)];
    reply = RankReply{};
    try {
      if (command.kind == CommandKind::kSpace) return describeSpace(command);
      measure(command, reply);
    } catch (const std::exception& e) {
      setText(reply.error, e.what());
    }
  }

 private:
  void describeSpace(const Command& command) {
    if (place_.rank != 0) return;
    const std::string text = library_.space(command);
    control_.textBytes = static_cast<uint32_t>(std::min(text.size(), control_.text.size()));
    text.copy(control_.text.data(), control_.textBytes);
  }

  void measure(const Command& command, RankReply& reply) {
    const Shape shape{command.collective, place_.rank, place_.nRanks, command.bytes / sizeof(float),
                      0};
    Buffers& buffers = command.registered ? registered_ : ordinary_;
    CallShape call{command.collective, buffers.first(command.bytes), buffers.second(command.bytes),
                   shape.count, shape.count / static_cast<size_t>(place_.nRanks)};
    if (inPlace(command.collective)) call.receive = call.send;
    library_.prepare(command, call);
    const bool ownsCore = place_.rank < static_cast<int>(control_.cores);
    const Load load(ownsCore ? command.load : LoadKind::kNone, allowedCores());
    if (command.load != LoadKind::kNone) usleep(kLoadLeadMs * 1000);
    runCalls(command, shape, call, reply);
    reply.loadGflops = load.gflops();
    setText(reply.config, library_.configInEffect());
  }

  void runCalls(const Command& command, Shape shape, const CallShape& call, RankReply& reply) {
    const bool tuning = command.kind == CommandKind::kTune;
    const int64_t until = command.maxMs ? nowNs() + int64_t{command.maxMs} * 1'000'000 : INT64_MAX;
    int64_t* times = control_.callNs[static_cast<size_t>(place_.rank)].data();
    const uint32_t total = command.warmups + command.iterations;
    for (uint32_t i = 0; i < total; ++i) {
      shape.salt = ++salt_;
      writeInput(shape, {call.send, sendCount(shape)});
      if (place_.rank == 0 && i > 0 && wantsEnd(command, reply, until)) control_.stopAt = i;
      if (!barrier(control_, ++round_)) return;
      const bool last = i >= control_.stopAt;
      const int64_t from = nowNs();
      library_.call(call);
      const int64_t to = nowNs();
      library_.settle();
      if (!tuning && i >= command.warmups) times[i - command.warmups] = to - from;
      if (place_.rank == 0)
        control_.iterationsDone = i >= command.warmups ? i + 1 - command.warmups : 0;
      if (last) break;
    }
    if (command.check && barrier(control_, ++round_))
      reply.wrong = countWrong(shape, {library_.result(call), receiveCount(shape)});
  }

  bool wantsEnd(const Command& command, RankReply& reply, int64_t until) {
    if (command.kind == CommandKind::kTune && library_.tuned()) reply.tuned = 1;
    return reply.tuned != 0 || nowNs() > until;
  }

  Control& control_;
  Place place_;
  Library& library_;
  Buffers ordinary_;
  Buffers registered_;
  uint32_t salt_ = 0;
  uint32_t round_ = 0;
};

/// Sleeps in the kernel until the conductor gives command `number`; looks for a lost conductor once
/// a second.
bool awaitCommand(Control& control, uint32_t number) {
  for (;;) {
    const uint32_t seen = control.command.value.load(std::memory_order_seq_cst);
    if (reached(seen, number)) return true;
    if (conductorGone(control)) return false;
    control.command.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const timespec second{1, 0};
    syscall(SYS_futex, &control.command.value, FUTEX_WAIT, seen, &second, nullptr, 0);
    control.command.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
}

}  // namespace

void* Library::allocate(size_t bytes) {
  return mapPages(bytes);
}
void Library::release(void* memory, size_t bytes) noexcept {
  munmap(memory, bytes);
}

std::vector<int> allowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(c, &set)) cores.push_back(c);
  return cores;
}

void placeOnCores(const Place& place) {
  const std::vector<int> cores = allowedCores();
  const int n = static_cast<int>(cores.size());
  if (n == 0) return;
  const int share = std::max(1, n / place.nRanks);
  const int first = n >= place.nRanks ? place.rank * share : place.rank % n;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = first; i < first + share && i < n; ++i) CPU_SET(cores[static_cast<size_t>(i)], &set);
  sched_setaffinity(0, sizeof set, &set);
}

int serve(Control& control, const Place& place, Library& library) noexcept {
  try {
    Rank rank(control, place, library);
    add(control.attached, 1);
    for (uint32_t number = 1; awaitCommand(control, number); ++number) {
      const Command command = control.now;
      if (command.kind == CommandKind::kExit) break;
      rank.obey(command);
      add(control.finished, 1);
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench worker, rank %d: %s\n", place.rank, e.what());
    return 1;
  }
}

std::unique_ptr<ControlBlock> openControl() noexcept {
  try {
    const char* path = std::getenv(kControlVariable);
    if (!path)
      throw Error(ErrorCode::kUsage, std::string(kControlVariable) + " is not set",
                  "this program is started by `autoccl bench`");
    return std::make_unique<ControlBlock>(path);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench worker: %s\n", e.what());
    return nullptr;
  }
}

Place placeFromEnvironment() {
  const char* rank = std::getenv(kRankVariable);
  const char* ranks = std::getenv(kRanksVariable);
  if (!rank || !ranks)
    throw Error(ErrorCode::kUsage,
                std::string(kRankVariable) + " or " + kRanksVariable + " is not set",
                "this program is started by `autoccl bench`");
  return {std::atoi(rank), std::atoi(ranks)};
}

int workerMain(const char* program, const LibraryMaker& make) noexcept {
  const auto control = openControl();
  if (!control) return 2;
  try {
    const Place place = placeFromEnvironment();
    placeOnCores(place);
    const std::unique_ptr<Library> library = make(**control, place);
    return serve(**control, place, *library);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace autoccl::bench
