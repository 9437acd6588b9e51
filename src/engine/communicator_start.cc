// How a communicator comes to be: the segment, who the others are, what is permitted.
#include <sched.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"
#include "base/settings.h"
#include "engine/communicator.h"
#include "engine/wires.h"
#include "transport/cma.h"

namespace autoccl {
namespace {

const Communicator::Options& checked(const Communicator::Options& o) {
  if (o.nRanks < 1 || o.nRanks > kMaxRanks)
    throw Error(ErrorCode::kUsage, std::to_string(o.nRanks) + " ranks on one host",
                "allowed: 1 to " + std::to_string(kMaxRanks));
  return o;
}

/// Waits for a flag during start-up, where nobody is watched yet.
void awaitAll(Flag& flag, int nRanks, int64_t deadlineNs, const Layout& layout) {
  WaitRules rules;
  uint32_t turns = 0;
  while (!reached(flag.value.load(std::memory_order_acquire), static_cast<uint32_t>(nRanks))) {
    (void)waitOnce(turns, rules);
    if (nowNs() < deadlineNs) continue;
    std::string missing;
    for (int r = 0; r < nRanks; ++r)
      if (layout.info(r).pid == 0) missing += " " + std::to_string(r);
    throw Error(
        ErrorCode::kTimeout,
        "start-up: not every rank went on; missing:" + (missing.empty() ? " unknown" : missing),
        "see their output, or raise AUTOCCL_INIT_TIMEOUT");
  }
}

}  // namespace

Communicator::Communicator(const Options& options)
    : options_(checked(options)),
      layout_(options.nRanks, options.sharedAreaBytes, wireBytes(options.nRanks)),
      pool_(options.rank),
      mail_(layout_, options.rank,
            {this,
             [](void* self, int peer, uint32_t region, uint64_t address) noexcept {
               return static_cast<Communicator*>(self)->peerPointer(peer, region, address);
             },
             [](void* self) noexcept { return static_cast<Communicator*>(self)->broken(); },
             [](void* self, int peer) noexcept {
               return static_cast<Communicator*>(self)->layout_.info(peer).pid;
             },
             &host_.cma}),
      seen_(static_cast<size_t>(options.nRanks)) {
  JoinRequest request;
  request.id = options.id;
  request.rank = options.rank;
  request.nRanks = options.nRanks;
  request.bytes = layout_.bytes();
  request.layout = layout_.fingerprint();
  request.timeoutNs = options.timeoutNs;
  segment_ = joinSegment(request);
  layout_.place(segment_->mapping.data());
  meet();
  probeCma();
  countCpus();
  readLimits();
  clampedLast_ = clampConfig(askedLast_, host_);
  plans_ = std::make_unique<Plans>(layout_.wires(), options.nRanks, options.rank);
  const size_t words = TileMap::scratchWords(Collective::kAllToAllv, options.nRanks);
  tileScratch_.resize(kMaxWorkers * words);
  scratch_ = Mapping::reserve(kMaxWorkers * kScratchBytes);
  flight_.layout = &layout_;
  flight_.rank = options.rank;
  flight_.nRanks = options.nRanks;
  flight_.tileScratch = tileScratch_;
  flight_.scratch = scratch_.data();
  if (options.check) check_ = std::make_unique<ResultCheck>();
  if (!options.pinned.empty()) pin(parseConfig(options.pinned));
  for (int r = 0; r < options.nRanks; ++r)
    flight_.pid[static_cast<size_t>(r)] = layout_.info(r).pid;
}

Communicator::~Communicator() {
  // Streams may still hold calls that were issued.
  for (uint64_t now = turn_.load(std::memory_order_acquire); now != issued_;
       now = turn_.load(std::memory_order_acquire))
    turn_.wait(now, std::memory_order_acquire);
}

void Communicator::meet() {
  const int64_t deadline = nowNs() + options_.timeoutNs;
  RankInfo& mine = layout_.info(rank());
  mine.server = Regions::ofProcess().serve();
  mine.probe = reinterpret_cast<uint64_t>(&segment_->session);
  ::sched_getaffinity(0, sizeof mine.allowed, &mine.allowed);
  mine.pid = ::getpid();
  add(layout_.control().joined, 1);
  awaitAll(layout_.control().joined, size(), deadline, layout_);
  for (int r = 0; r < size(); ++r) {
    if (layout_.info(r).server.process == mine.server.process) continue;
    sameProcess_ = false;
    liveness_.watch(r, layout_.info(r).pid);
  }
}

void Communicator::probeCma() {
  for (int r = 0; r < size(); ++r) {
    uint64_t word = 0;
    const RankInfo& info = layout_.info(r);
    if (!cmaRead(info.pid, info.probe, &word, sizeof word) || word != segment_->session)
      layout_.control().cmaDenied.store(1, std::memory_order_relaxed);
  }
  add(layout_.control().probed, 1);
  awaitAll(layout_.control().probed, size(), nowNs() + options_.timeoutNs, layout_);
  host_.cma = layout_.control().cmaDenied.load(std::memory_order_relaxed) == 0;
}

void Communicator::countCpus() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int r = 0; r < size(); ++r) CPU_OR(&all, &all, &layout_.info(r).allowed);
  host_.cpus = CPU_COUNT(&all);
}

void Communicator::readLimits() {
  host_.nRanks = size();
  host_.stageBytes = layout_.stageBytes();
  host_.maxChannels = static_cast<int>(settingNumber("AUTOCCL_MAX_CHANNELS"));
  host_.maxThreads = static_cast<int>(settingNumber("AUTOCCL_MAX_THREADS"));
  host_.maxChunk = static_cast<uint32_t>(settingSize("AUTOCCL_MAX_CHUNK"));
  if (const auto wait = fromText<WaitPolicy>(settingText("AUTOCCL_WAIT")))
    host_.wait = static_cast<int>(*wait);
}

std::span<std::byte> Communicator::sharedArea() const noexcept {
  return {layout_.sharedArea(), options_.sharedAreaBytes};
}

uint64_t Communicator::digest() const noexcept {
  return layout_.fingerprint() ^ uint64_t { host_.cma } << 63;
}

}  // namespace autoccl
