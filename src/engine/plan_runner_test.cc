// Step plans over real wires: ranks are threads, memory is mapped shared.
#include "engine/plan_runner.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <tuple>

#include "base/testing/allocations.h"
#include "plan/catalog.h"

namespace autoccl {
namespace {

constexpr WireGeometry geometryOf(int n) {
  return {n, 16, 256 << 10, 16 << 10};
}

class Shared {
 public:
  explicit Shared(size_t bytes) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    base_ = p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
  }
  ~Shared() { munmap(base_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  [[nodiscard]] std::byte* get() const { return base_; }

 private:
  std::byte* base_;
  size_t bytes_;
};

// One collective on int32 with its inputs and, by definition, its outputs.
struct Job {
  Collective collective{};
  int root = 0;
  ReduceOp op = ReduceOp::kSum;
  bool inPlace = false;
  size_t count = 0;            // of the even forms
  std::vector<size_t> counts;  // of the uneven forms
  Config config;
  bool parallelLanes = false;
};

using Ints = std::vector<int32_t>;

int32_t input(int rank, size_t i) {
  return int32_t(rank * 1000003 + int(i) * 7919 + 13) % 100000;
}

// Everything that the ranks of one job share: what each sends, and what each must end with.
struct Data {
  std::vector<size_t> displs;
  std::vector<std::vector<size_t>> pairs[4];
  std::vector<AllToAllvRow> rows;
  std::vector<Ints> send, recv, want;
  std::vector<const int32_t*> sendAt;
  std::vector<int32_t*> recvAt;
  std::vector<PeerBuffers> peers;
};

constexpr int32_t kUntouched = -77777;

int32_t combined(const Job& job, const Data& d, size_t i) {
  int64_t sum = 0;
  int32_t most = d.send[0][i];
  for (size_t r = 0; r < d.send.size(); ++r) {
    const int32_t scale = job.op == ReduceOp::kScaledSum ? int32_t(r) + 1 : 1;
    sum += int64_t(scale) * d.send[r][i];
    most = std::max(most, d.send[r][i]);
  }
  if (job.op == ReduceOp::kMax) return most;
  return int32_t(job.op == ReduceOp::kAvg ? sum / int64_t(d.send.size()) : sum);
}

void fillLengths(Data& d, const std::vector<size_t>& sends, const std::vector<size_t>& recvs) {
  for (size_t r = 0; r < sends.size(); ++r) {
    Ints v(sends[r]);
    for (size_t i = 0; i < v.size(); ++i) v[i] = input(int(r), i);
    d.send.push_back(std::move(v));
    d.want.emplace_back(recvs[r], kUntouched);
  }
}

void fillAllToAllv(const Job& job, Data& d, size_t n) {
  for (auto& p : d.pairs) p.assign(n, std::vector<size_t>(n));
  std::vector<size_t> sends(n), recvs(n);
  for (size_t r = 0; r < n; ++r)
    for (size_t q = 0; q < n; ++q) {
      d.pairs[0][r][q] = d.pairs[2][q][r] = job.counts[(3 * r + q) % n];
      d.pairs[1][r][q] = sends[r];
      sends[r] += d.pairs[0][r][q];
    }
  for (size_t q = 0; q < n; ++q)
    for (size_t r = 0; r < n; ++r) {
      d.pairs[3][q][r] = recvs[q];
      recvs[q] += d.pairs[2][q][r];
    }
  fillLengths(d, sends, recvs);
  for (size_t r = 0; r < n; ++r) {
    d.rows.push_back(
        {d.pairs[0][r].data(), d.pairs[1][r].data(), d.pairs[2][r].data(), d.pairs[3][r].data()});
    for (size_t q = 0; q < n; ++q)
      for (size_t i = 0; i < d.pairs[0][r][q]; ++i)
        d.want[q][d.pairs[3][q][r] + i] = d.send[r][d.pairs[1][r][q] + i];
  }
}

void fillBlocks(const Job& job, Data& d, size_t n) {
  const size_t total = std::accumulate(job.counts.begin(), job.counts.end(), size_t{0});
  const std::vector<size_t> all(n, total);
  const bool gathers =
      job.collective == Collective::kAllGather || job.collective == Collective::kAllGatherv;
  fillLengths(d, gathers ? job.counts : all, gathers ? all : job.counts);
  size_t at = 0;
  for (size_t r = 0; r < n; ++r)
    for (size_t i = 0; i < job.counts[r]; ++i, ++at) {
      if (!gathers) d.want[r][i] = combined(job, d, at);
      for (size_t q = 0; gathers && q < n; ++q) d.want[q][at] = d.send[r][i];
    }
}

void fillWhole(const Job& job, Data& d, size_t n) {
  const size_t count = job.count;
  if (job.collective == Collective::kAllToAll) {
    fillLengths(d, std::vector(n, n * count), std::vector(n, n * count));
    for (size_t r = 0; r < n; ++r)
      for (size_t i = 0; i < n * count; ++i)
        d.want[r][i] = d.send[i / count][r * count + i % count];
    return;
  }
  fillLengths(d, std::vector(n, count), std::vector(n, count));
  for (size_t r = 0; r < n; ++r)
    for (size_t i = 0; i < count; ++i) {
      if (job.collective == Collective::kBroadcast) d.want[r][i] = d.send[size_t(job.root)][i];
      if (job.collective == Collective::kAllReduce) d.want[r][i] = combined(job, d, i);
      if (job.collective == Collective::kReduce && int(r) == job.root)
        d.want[r][i] = combined(job, d, i);
    }
}

// Where the send buffer is part of the receive buffer or the other way round, as NCCL defines it.
void placeBuffers(const Job& job, Data& d) {
  for (size_t r = 0; r < d.send.size(); ++r) {
    d.recv.emplace_back(d.want[r].size(), kUntouched);
    d.sendAt.push_back(d.send[r].data());
    d.recvAt.push_back(d.recv[r].data());
    if (!job.inPlace) continue;
    const bool blocks = !job.counts.empty();
    const size_t mine = blocks ? d.displs[r] : 0;
    if (d.send[r].size() > d.want[r].size()) {  // reduce-scatter
      d.recvAt[r] = d.send[r].data() + mine;
    } else {
      std::copy(d.send[r].begin(), d.send[r].end(), d.recv[r].begin() + long(mine));
      d.sendAt[r] = d.recv[r].data() + mine;
    }
  }
  for (size_t r = 0; r < d.send.size(); ++r)
    d.peers.push_back({reinterpret_cast<const std::byte*>(d.sendAt[r]),
                       reinterpret_cast<std::byte*>(d.recvAt[r]), getpid()});
}

Data makeData(Job& job, int nRanks) {
  const auto n = size_t(nRanks);
  Data d;
  const bool evenBlocks =
      job.collective == Collective::kAllGather || job.collective == Collective::kReduceScatter;
  if (evenBlocks) job.counts.assign(n, job.count);
  if (!job.counts.empty()) {
    d.displs.assign(n, 0);
    std::partial_sum(job.counts.begin(), job.counts.end() - 1, d.displs.begin() + 1);
  }
  if (job.collective == Collective::kAllToAllv)
    fillAllToAllv(job, d, n);
  else if (!job.counts.empty())
    fillBlocks(job, d, n);
  else
    fillWhole(job, d, n);
  placeBuffers(job, d);
  return d;
}

PlanCall callOf(const Job& job, const Data& d, int rank, int n) {
  PlanCall call;
  call.shape = {job.collective, n, job.root, 0, job.count * 4, 4};
  call.shape.counts = job.counts.data();
  call.shape.displs = d.displs.data();
  call.shape.rows = d.rows.data();
  call.dtype = DataType::kInt32;
  call.op = job.op;
  call.send = reinterpret_cast<const std::byte*>(d.sendAt[size_t(rank)]);
  call.recv = reinterpret_cast<std::byte*>(d.recvAt[size_t(rank)]);
  call.scale = rank + 1;
  call.peers = d.peers.data();
  return call;
}

bool runLanes(const PlanRunner& runner, const Config& config, bool parallel) {
  std::atomic<bool> good{true};
  std::vector<std::thread> lanes;
  for (int c = 0; c < config.channels; ++c)
    for (int t = 0; t < config.threads; ++t) {
      const auto lane = [&runner, &good, c, t] {
        if (!runner.run(c, t)) good = false;
      };
      if (parallel)
        lanes.emplace_back(lane);
      else
        lane();
    }
  for (auto& l : lanes) l.join();
  return good;
}

std::string describe(const Job& job, int n) {
  return std::string(toText(job.collective)) + " n=" + std::to_string(n) + " " +
         toText(job.config) + " op=" + std::string(toText(job.op)) +
         " count=" + std::to_string(job.count) + " root=" + std::to_string(job.root) +
         (job.inPlace ? " in place" : "");
}

// n ranks that stay for many jobs, so that one job finds the wires as the last one left them.
void runJobs(int n, std::vector<Job> jobs, WaitPolicy policy = WaitPolicy::kYield) {
  const WireGeometry g = geometryOf(n);
  Shared memory(WireSet::requiredBytes(g));
  std::vector<Data> data;
  data.reserve(jobs.size());
  for (Job& job : jobs) data.push_back(makeData(job, n));
  const auto rank = [&](int me) {
    WireSet wires(memory.get(), g, me);
    PlanRunner runner(me, wires);
    WaitRules rules;
    rules.policy = policy;
    rules.spins = 20;
    for (size_t j = 0; j < jobs.size(); ++j) {
      const Job& job = jobs[j];
      ASSERT_TRUE(PlanRunner::offers(g, job.config, job.collective)) << describe(job, n);
      ASSERT_TRUE(runner.begin(callOf(job, data[j], me, n), job.config, rules)) << describe(job, n);
      ASSERT_TRUE(runLanes(runner, job.config, job.parallelLanes)) << describe(job, n);
      if (!job.inPlace)  // a rank that is through may do with its buffer what it likes
        std::fill(data[j].send[size_t(me)].begin(), data[j].send[size_t(me)].end(), -1);
    }
  };
  std::vector<std::thread> ranks;
  ranks.reserve(n);
  for (int me = 0; me < n; ++me) ranks.emplace_back(rank, me);
  for (auto& t : ranks) t.join();
  for (size_t j = 0; j < jobs.size(); ++j)
    for (size_t r = 0; r < size_t(n); ++r) {
      const Ints got(data[j].recvAt[r], data[j].recvAt[r] + data[j].want[r].size());
      if (jobs[j].collective == Collective::kReduce && int(r) != jobs[j].root) continue;
      ASSERT_EQ(got, data[j].want[r]) << describe(jobs[j], n) << " rank " << r;
    }
}

constexpr std::pair<Protocol, Transport> kWires[] = {{Protocol::kSimple, Transport::kShm},
                                                     {Protocol::kLL, Transport::kShm},
                                                     {Protocol::kSimple, Transport::kCma},
                                                     {Protocol::kZero, Transport::kShm}};

std::vector<size_t> unevenCounts(int n, size_t about, std::mt19937& random) {
  std::vector<size_t> counts;
  counts.reserve(n);
  for (int i = 0; i < n; ++i) counts.push_back(random() % 4 ? random() % (2 * about + 1) : 0);
  return counts;
}

Job randomJob(const CatalogRow& row, int n, std::mt19937& random) {
  static constexpr size_t kCounts[] = {0, 1, 3, 17, 255, 1000, 4099};
  static constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kAvg,
                                      ReduceOp::kScaledSum};
  Job job;
  job.collective = row.collective;
  job.root = rooted(row.collective) ? int(random() % unsigned(n)) : 0;
  job.op = reduces(row.collective) ? kOps[random() % 4] : ReduceOp::kSum;
  job.count = kCounts[random() % std::size(kCounts)];
  if (uneven(row.collective)) job.counts = unevenCounts(n, job.count, random);
  const bool never = row.collective == Collective::kAllToAll ||
                     row.collective == Collective::kAllToAllv ||
                     row.collective == Collective::kReduceScatterv;
  job.inPlace = !never && random() % 2;
  const auto [protocol, transport] = kWires[random() % std::size(kWires)];
  const auto channels = uint16_t(1 + random() % 3), threads = uint16_t(1 + random() % 2);
  const uint32_t chunk = protocol == Protocol::kLL ? 512u << random() % 3 : 256u << random() % 5;
  job.config = {row.algorithm, protocol, transport, 0, channels, threads, chunk};
  return job;
}

TEST(PlanRunner, EveryPlanOverEveryWireGivesTheRightResult) {
  std::mt19937 random(5);
  for (int n = 1; n <= 8; ++n) {
    std::vector<Job> jobs;
    for (int round = 0; round < (n <= 4 ? 8 : 2); ++round)
      for (const CatalogRow& row : catalog())
        if (row.make) jobs.push_back(randomJob(row, n, random));
    std::shuffle(jobs.begin(), jobs.end(), random);
    runJobs(n, jobs);
  }
}

TEST(PlanRunner, EveryWireServesEveryPlanAtOneSize) {
  for (const int n : {2, 3, 5}) {
    std::vector<Job> jobs;
    for (const auto& [protocol, transport] : kWires)
      for (const CatalogRow& row : catalog()) {
        if (!row.make) continue;
        Job job;
        job.collective = row.collective;
        job.count = 777;
        if (uneven(row.collective)) job.counts.assign(size_t(n), 777);
        job.config = {row.algorithm, protocol, transport, 0, 1, 1, 1024};
        jobs.push_back(job);
      }
    runJobs(n, jobs);
  }
}

TEST(PlanRunner, ChannelsAndThreadsMayRunInParallelAndAsleep) {
  std::mt19937 random(6);
  for (const int n : {2, 3}) {
    std::vector<Job> jobs;
    for (int round = 0; round < 3; ++round)
      for (const CatalogRow& row : catalog())
        if (row.make) {
          jobs.push_back(randomJob(row, n, random));
          jobs.back().parallelLanes = true;
        }
    runJobs(n, jobs, WaitPolicy::kFutex);
  }
}

TEST(PlanRunner, ASecondCallAllocatesNothing) {
  const WireGeometry g = geometryOf(2);
  Shared memory(WireSet::requiredBytes(g));
  std::vector<Job> jobs;
  for (const auto& [protocol, transport] : kWires)
    for (const CatalogRow& row : catalog())
      if (row.make && !uneven(row.collective)) {
        Job job;
        job.collective = row.collective;
        job.count = 1234;
        job.config = {row.algorithm, protocol, transport, 0, 2, 1, 1024};
        jobs.push_back(job);
      }
  std::vector<Data> data;
  data.reserve(jobs.size());
  for (Job& job : jobs) data.push_back(makeData(job, 2));
  const auto rank = [&](int me) {
    WireSet wires(memory.get(), g, me);
    PlanRunner runner(me, wires);
    const auto runAll = [&] {
      bool good = true;
      for (size_t j = 0; j < jobs.size(); ++j) {
        good &= runner.begin(callOf(jobs[j], data[j], me, 2), jobs[j].config, {});
        good &= runner.run(0, 0) && runner.run(1, 0);
      }
      return good;
    };
    ASSERT_TRUE(runAll());
    const uint64_t before = testing::allocationsOfThisThread();
    const bool good = runAll();
    EXPECT_EQ(testing::allocationsOfThisThread(), before);
    EXPECT_TRUE(good);
  };
  std::thread other(rank, 1);
  rank(0);
  other.join();
}

TEST(PlanRunner, AnAbortEndsACallThatWaitsForAPeerThatNeverComes) {
  const WireGeometry g = geometryOf(3);
  for (const auto& [protocol, transport] : kWires)
    for (const CatalogRow& row : catalog()) {
      if (!row.make || rooted(row.collective) || uneven(row.collective)) continue;
      Shared memory(WireSet::requiredBytes(g));
      Job job;
      job.collective = row.collective;
      job.count = 3000;
      job.config = {row.algorithm, protocol, transport, 0, 1, 1, 1024};
      const Data data = makeData(job, 3);
      std::atomic<uint32_t> epoch{0};
      const auto rank = [&](int me) {
        WireSet wires(memory.get(), g, me);
        PlanRunner runner(me, wires);
        WaitRules rules;
        rules.policy = me == 0 ? WaitPolicy::kFutex : WaitPolicy::kYield;
        rules.spins = 10;
        rules.epoch = &epoch;
        ASSERT_TRUE(runner.begin(callOf(job, data, me, 3), job.config, rules));
        EXPECT_FALSE(runner.run(0, 0)) << describe(job, 3);
      };
      std::thread first(rank, 0), second(rank, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      epoch = 1;
      first.join();
      second.join();
    }
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  });
}

// One float AllReduce on four ranks; every rank's result.
std::vector<float> floatSum(const Config& config, size_t count) {
  constexpr int kRanks = 4;
  const WireGeometry g = geometryOf(kRanks);
  Shared memory(WireSet::requiredBytes(g));
  std::vector<std::vector<float>> send(kRanks), recv(kRanks, std::vector<float>(count));
  std::mt19937 random(9);
  for (auto& s : send)
    for (size_t i = 0; i < count; ++i)
      s.push_back(std::ldexp(float(random()) - 2e9F, int(random() % 40) - 20));
  std::vector<PeerBuffers> peers;
  for (size_t r = 0; r < kRanks; ++r)
    peers.push_back({reinterpret_cast<const std::byte*>(send[r].data()),
                     reinterpret_cast<std::byte*>(recv[r].data()), getpid()});
  const auto rank = [&](int me) {
    WireSet wires(memory.get(), g, me);
    PlanRunner runner(me, wires);
    PlanCall call;
    call.shape = {Collective::kAllReduce, kRanks, 0, 0, count * 4, 4};
    call.dtype = DataType::kFloat32;
    call.send = peers[size_t(me)].send;
    call.recv = peers[size_t(me)].recv;
    call.peers = peers.data();
    WaitRules rules;
    rules.policy = WaitPolicy::kYield;
    ASSERT_TRUE(runner.begin(call, config, rules));
    ASSERT_TRUE(runLanes(runner, config, false));
  };
  std::vector<std::thread> ranks;
  ranks.reserve(kRanks);
  for (int me = 0; me < kRanks; ++me) ranks.emplace_back(rank, me);
  for (auto& t : ranks) t.join();
  for (const auto& r : recv) EXPECT_EQ(std::memcmp(r.data(), recv[0].data(), count * 4), 0);
  return recv[0];
}

TEST(PlanRunner, TheOrderOfASumDependsOnTheAlgorithmOnly) {
  constexpr size_t kCount = 9973;
  for (const Algorithm a : {Algorithm::kRing, Algorithm::kTree, Algorithm::kHalvingDoubling}) {
    const std::vector<float> want =
        floatSum({a, Protocol::kSimple, Transport::kShm, 0, 1, 1, 4096}, kCount);
    for (const auto& [protocol, transport] : kWires)
      for (const auto& [channels, threads, chunk] :
           {std::tuple{3, 1, 512}, {1, 2, 1024}, {2, 2, 2048}}) {
        const Config c{
            a, protocol, transport, 0, uint16_t(channels), uint16_t(threads), uint32_t(chunk)};
        const std::vector<float> got = floatSum(c, kCount);
        EXPECT_TRUE(sameBits(got, want)) << toText(c);
      }
  }
}

TEST(PlanRunner, RefusesWhatDoesNotFitItsMemoryOrHasNoPlan) {
  const WireGeometry g = geometryOf(4);
  const auto offers = [&](const char* text, Collective c) {
    return PlanRunner::offers(g, parseConfig(text), c);
  };
  EXPECT_TRUE(offers("ring/simple/shm nc=1 nt=1 c=64K", Collective::kAllReduce));
  EXPECT_FALSE(offers("ring/simple/shm nc=2 nt=1 c=64K", Collective::kAllReduce));
  EXPECT_FALSE(offers("tree/simple/shm nc=1 nt=1 c=64K", Collective::kAllReduce));  // two rails
  EXPECT_TRUE(offers("ring/ll/shm nc=16 nt=1 c=2K", Collective::kAllReduce));
  EXPECT_FALSE(offers("ring/ll/shm nc=1 nt=1 c=4K", Collective::kAllReduce));
  EXPECT_FALSE(offers("ring/ll/shm nc=17 nt=1 c=1K", Collective::kAllReduce));
  EXPECT_FALSE(offers("ring/ll/cma nc=1 nt=1 c=1K", Collective::kAllReduce));
  EXPECT_FALSE(offers("tree/simple/shm nc=1 nt=1 c=1K", Collective::kAllGather));
  EXPECT_FALSE(offers("twoshot/simple/shm nc=1 nt=1 c=1K", Collective::kAllReduce));
}

}  // namespace
}  // namespace autoccl
