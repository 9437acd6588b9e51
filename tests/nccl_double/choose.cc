#include "tests/nccl_double/choose.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

#include "tests/nccl_double/environment.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

using namespace nccl;

/// Where NCCL would divide by zero, miss a kernel or leave an array, so does the double.
[[noreturn]] void crash(ncclComm& comm, int signal, const char* why) {
  comm.trace.event(why);
  warn("%s", why);
  std::raise(signal);
  std::abort();
}

std::string pairName(int algo, int proto) {
  return algo < 0 ? "none" : std::string(nameOfAlgo(algo)) + "/" + nameOfProto(proto);
}

struct Pair {
  int algo = -1, proto = -1;
  float us = 0;
};

/// The smallest entry, by the release's rule; ties go to the lower index. Entries that came as -1
/// and still are -1 never take part.
Pair smallest(const CostTable& table, const CostTable& given) {
  const bool any = release().choice == Choice::kSmallestEver;
  Pair best{-1, -1, release().slowestUs};
  for (int a = 0; a < release().algorithms; ++a)
    for (int p = 0; p < kProtos; ++p) {
      const float us = table[a][p];
      if (given[a][p] == kEntryIgnored && us == kEntryIgnored) continue;
      if (!any && !(us >= 0)) continue;
      if (us < best.us) best = {a, p, us};
    }
  return best;
}

size_t bytesOf(const CollTask& task, int nRanks) {
  const bool gathers = task.func == kFuncAllGather || task.func == kFuncReduceScatter;
  return task.count * task.elementBytes * (gathers ? static_cast<size_t>(nRanks) : 1);
}

bool bothRegistered(ncclComm& comm, const CollTask& task) {
  return comm.holds(task.call.send, task.count * task.elementBytes) &&
         comm.holds(task.call.recv, task.count * task.elementBytes);
}

/// One aggregate's question, answer and choice.
class Chooser {
 public:
  Chooser(ncclComm& comm, const CollTask& aggregate, int pipeOps, bool captured, bool simulated)
      : comm_(comm), task_(aggregate), simulated_(simulated) {
    question_.func = aggregate.func;
    question_.nBytes = bytesOf(aggregate, comm.nRanks);
    question_.pipeOps = pipeOps;
    question_.registered = captured || bothRegistered(comm, aggregate) ? 1 : 0;
    question_.nvls = comm.machine.nvls ? 1 : 0;
    question_.collnet = comm.machine.collnet ? 1 : 0;
    predict(comm.machine, comm.allowed, release().patManyRanks, aggregate.func, question_.nBytes,
            pipeOps, table_);
    std::memcpy(given_, table_, sizeof table_);
  }

  ncclResult_t choose(CollTask& out) {
    const Pair fallback = smallest(table_, given_);
    if (comm_.tuner != nullptr)
      if (const ncclResult_t asked = askTuner(); asked != ncclSuccess) return asked;
    Pair chosen = smallest(table_, given_);
    if (release().choice == Choice::kPair && algo_ >= 0) chosen = {algo_, proto_, 0};
    if (comm_.tuner == nullptr) chosen = efficient(chosen);
    note(fallback, chosen);
    if (chosen.algo < 0) {
      const bool users = variable("NCCL_ALGO") != nullptr || variable("NCCL_PROTO") != nullptr;
      warn("no algorithm and protocol are left for %s", nameOfFunc(task_.func));
      return users ? ncclInvalidUsage : ncclInternalError;
    }
    estimate_ = chosen.us;
    punishImpossible(chosen, out);
    setLanes(chosen, out);
    return ncclSuccess;
  }
  [[nodiscard]] float estimate() const { return estimate_; }

 private:
  ncclResult_t askTuner() {
    if (release().symmetricProbe) {
      // The question about symmetric kernels: nothing is possible, and no call follows from it.
      CostTable nothing;
      std::fill(&nothing[0][0], &nothing[0][0] + kAlgos * kProtos, kEntryIgnored);
      TunerQuestion probe = question_;
      probe.pipeOps = 0;
      int channels = 0;
      const Result probed = comm_.tuner->getCollInfo(
          comm_.tunerContext, probe, nothing, release().algorithms, &algo_, &proto_, &channels);
      if (probed != Result::kSuccess) return static_cast<ncclResult_t>(probed);
    }
    // An error here is the user's error, whatever the header of the plugin says.
    return static_cast<ncclResult_t>(comm_.tuner->getCollInfo(
        comm_.tunerContext, question_, table_, release().algorithms, &algo_, &proto_, &channels_));
  }

  /// CTAPolicy EFFICIENCY prefers NVLS for registered buffers, unless a tuner is loaded.
  [[nodiscard]] Pair efficient(Pair chosen) const {
    const bool wanted = release().efficiency &&
                        comm_.config.ctaPolicy == NCCL_CTA_POLICY_EFFICIENCY &&
                        variable("NCCL_ALGO") == nullptr && variable("NCCL_PROTO") == nullptr;
    const bool gathers = task_.func == kFuncAllGather || task_.func == kFuncReduceScatter;
    if (wanted && gathers && question_.registered != 0 && given_[kAlgoNvls][kProtoSimple] >= 0)
      return {kAlgoNvls, kProtoSimple, given_[kAlgoNvls][kProtoSimple]};
    return chosen;
  }

  void note(const Pair& fallback, const Pair& chosen) {
    Trace::Answer answer;
    for (int a = 0; a < release().algorithms; ++a)
      for (int p = 0; p < kProtos; ++p) {
        const bool same = std::memcmp(&table_[a][p], &given_[a][p], sizeof(float)) == 0;
        answer.changed += same ? 0 : 1;
        answer.touched += !same && given_[a][p] == kEntryIgnored ? 1 : 0;
      }
    const std::string before = pairName(fallback.algo, fallback.proto);
    const std::string after = pairName(chosen.algo, chosen.proto);
    answer.func = task_.func;
    answer.nBytes = question_.nBytes;
    answer.channelsAsked = channels_;
    answer.channelLimit = comm_.machine.nChannels;
    answer.simulated = simulated_;
    answer.fallback = before.c_str();
    answer.chosen = after.c_str();
    comm_.trace.answer(answer);
  }

  void punishImpossible(const Pair& chosen, CollTask& out) {
    Machine safe = comm_.machine;
    if (possible(safe, release().patManyRanks, task_.func, chosen.algo, chosen.proto)) return;
    safe.ll128 = true;
    if (possible(safe, release().patManyRanks, task_.func, chosen.algo, chosen.proto)) {
      out.corrupts = true;
      return;
    }
    const bool headless =
        chosen.algo != kAlgoTree && chosen.algo != kAlgoRing && chosen.algo != kAlgoPat;
    if (headless) crash(comm_, SIGFPE, "crash: an impossible pair has no heads to divide by");
    crash(comm_, SIGSEGV, "crash: an impossible pair has no kernel");
  }

  void setLanes(const Pair& chosen, CollTask& out) {
    const Lanes lanes =
        lanesFor(comm_.machine, comm_.limits, chosen.algo, chosen.proto, question_.nBytes);
    int channels = lanes.channels;
    if (release().channelsOnlyLower) {
      if (channels_ > 0 && channels_ < channels) channels = channels_;
    } else if (channels_ != 0) {
      channels = channels_;
    }
    out.algo = chosen.algo;
    out.proto = chosen.proto;
    out.warps = lanes.warps;
    out.nMaxChannels = static_cast<int8_t>(channels);  // NCCL keeps it in eight signed bits
  }

  ncclComm& comm_;
  const CollTask& task_;
  bool simulated_;
  TunerQuestion question_;
  CostTable table_, given_;
  int algo_ = -1, proto_ = -1, channels_ = 0;
  float estimate_ = 0;
};

bool isCollnet(const ncclComm& comm, const CollTask& t) {
  return t.algo == kAlgoCollnetDirect || t.algo == kAlgoCollnetChain ||
         (t.algo == kAlgoNvls && comm.machine.nNodes > 1);
}
bool isNvls(const CollTask& t) {
  return t.algo == kAlgoNvls || t.algo == kAlgoNvlsTree;
}

/// The chunk of one part of a collective, with the tuner's say and NCCL's clamps.
size_t chunkOf(ncclComm& comm, const CollTask& t, int channels, size_t nBytes,
               ncclResult_t& result) {
  const ChunkBounds bounds =
      chunkFor(comm.machine, comm.limits, t.func, t.algo, t.proto, channels, nBytes);
  const size_t grain = grainOf(t.proto);
  size_t chunk = bounds.chunk;
  if (comm.tuner != nullptr) {
    const Result asked = comm.tuner->getChunkSize(comm.tunerContext, t.func, nBytes, t.algo,
                                                  t.proto, channels, &chunk);
    if (asked != Result::kSuccess) result = static_cast<ncclResult_t>(asked);
    comm.trace.chunk(bounds.chunk, chunk, grain, bounds.most);
  }
  if (isNvls(t) && chunk > static_cast<size_t>(comm.limits.nvlsChunk))
    comm.trace.event("overrun: a chunk larger than an NVLS slot");
  chunk = std::min(chunk, bounds.most) / grain * grain;
  if (chunk == 0) crash(comm, SIGFPE, "crash: a chunk below the grain divides by zero");
  return chunk;
}

ncclResult_t layWithoutClamp(ncclComm& comm, CollTask& t) {
  if (t.nMaxChannels < 1 || t.nMaxChannels > comm.machine.nChannels)
    crash(comm, SIGSEGV, "crash: a channel that does not exist");
  ncclResult_t result = ncclSuccess;
  t.first = 0;
  t.channels = t.nMaxChannels;
  t.chunk = chunkOf(comm, t, t.channels, bytesOf(t, comm.nRanks), result);
  return result;
}

ncclResult_t layByShares(ncclComm& comm, CollTask& t, ChannelShares& shares) {
  const size_t trafficPerByte = t.trafficPerByte * (t.proto == kProtoLL ? 4 : 1);
  const Part part = shares.take(t.count, t.elementBytes, trafficPerByte);
  ncclResult_t result = ncclSuccess;
  t.first = part.first;
  t.channels = part.channels;
  const size_t perElement = bytesOf(t, comm.nRanks) / std::max<size_t>(t.count, 1);
  // One question for each kind of part, as if it were alone on one channel.
  for (const size_t count : {part.lo, part.hi, part.mid})
    if (count != 0) t.chunk = chunkOf(comm, t, 1, perElement * count, result);
  return result;
}

/// Releases before 2.22 give a collective the channels it asked for.
ncclResult_t layAsAsked(ncclComm& comm, CollTask& t) {
  if (t.nMaxChannels < 1) crash(comm, SIGSEGV, "crash: no channels");
  t.nMaxChannels = std::min(t.nMaxChannels, comm.machine.nChannels);
  return layWithoutClamp(comm, t);
}

struct Kind {
  size_t traffic = 0;
  int asked = 0;
};

ncclResult_t layAll(ncclComm& comm) {
  std::map<int, Kind> kinds;
  const auto kindOf = [&](const CollTask& t) { return isNvls(t) ? 1 : 0; };
  const auto mostOf = [&](int kind) {
    return kind == 1 ? comm.limits.nvlsChannels : comm.machine.nChannels;
  };
  const auto minTraffic = static_cast<size_t>(release().minTrafficBytes);
  for (const CollTask& t : comm.tasks) {
    if (isCollnet(comm, t)) continue;
    if (t.nMaxChannels == 0) crash(comm, SIGFPE, "crash: traffic divided by no channels");
    Kind& kind = kinds[kindOf(t)];
    kind.traffic += std::max(minTraffic, t.traffic * (t.proto == kProtoLL ? 4 : 1));
    kind.asked = std::min(kind.asked + t.nMaxChannels, mostOf(kindOf(t)));
  }
  std::map<int, ChannelShares> shares;
  for (CollTask& t : comm.tasks) {
    ncclResult_t result = ncclSuccess;
    if (isCollnet(comm, t)) {
      result = layWithoutClamp(comm, t);
    } else if (minTraffic == 0) {
      result = layAsAsked(comm, t);
    } else {
      const int kind = kindOf(t);
      auto at =
          shares.try_emplace(kind, minTraffic, kinds[kind].traffic, kinds[kind].asked, mostOf(kind))
              .first;
      result = layByShares(comm, t, at->second);
    }
    if (result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t chooseAll(ncclComm& comm, bool captured, bool simulated, float* estimateUs) {
  if (comm.tasks.empty()) return ncclSuccess;
  // Tasks come size descending; bins keep that order of first sight and are walked ascending.
  std::vector<CollTask> sorted = std::move(comm.tasks);
  comm.tasks.clear();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CollTask& a, const CollTask& b) { return a.traffic > b.traffic; });
  std::vector<std::tuple<int, int, int>> order;
  std::map<std::tuple<int, int, int>, std::vector<CollTask>> bins;
  for (CollTask& t : sorted) {
    const std::tuple key{static_cast<int>(t.func), t.op, static_cast<int>(t.dtype)};
    if (!bins.contains(key)) order.push_back(key);
    bins[key].insert(bins[key].begin(), t);
  }
  const int pipeOps =
      (static_cast<int>(sorted.size()) + comm.machine.nChannels - 1) / comm.machine.nChannels;
  for (const auto& key : order) {
    std::vector<CollTask>& bin = bins[key];
    for (size_t begin = 0, end = 0; begin < bin.size(); begin = end) {
      CollTask aggregate = bin[begin];
      for (end = begin + 1; end < bin.size() && bin[end].traffic < 4 * bin[begin].traffic; ++end) {
        aggregate.count += bin[end].count;
        aggregate.traffic += bin[end].traffic;
      }
      Chooser chooser(comm, aggregate, pipeOps, captured, simulated);
      CollTask decided;
      if (const ncclResult_t result = chooser.choose(decided); result != ncclSuccess) return result;
      if (estimateUs != nullptr) *estimateUs = chooser.estimate();
      for (size_t i = begin; i < end; ++i) {
        bin[i].algo = decided.algo;
        bin[i].proto = decided.proto;
        bin[i].nMaxChannels = decided.nMaxChannels;
        bin[i].warps = decided.warps;
        bin[i].corrupts = decided.corrupts;
        comm.tasks.push_back(bin[i]);
      }
    }
  }
  std::stable_sort(comm.tasks.begin(), comm.tasks.end(), [&](const CollTask& a, const CollTask& b) {
    return std::pair(isCollnet(comm, a), isNvls(a)) < std::pair(isCollnet(comm, b), isNvls(b));
  });
  return simulated ? ncclSuccess : layAll(comm);
}

}  // namespace autoccl::nccl_double
