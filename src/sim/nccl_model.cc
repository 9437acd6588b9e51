#include "sim/nccl_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace autoccl::sim {
namespace {

enum Function { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
enum Algorithm { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
enum Protocol { kLL, kLL128, kSimple };
enum Hardware { kNvLink, kPci, kNet };

constexpr int kBatch = 16;  // collectives of one group that a tree takes at once

// Microseconds, [algorithm][protocol].
constexpr double kBase[kNcclAlgorithms][kNcclProtocols] = {
    {6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0},      {0, 0, 0},
    {0, 0, 0},        {0, 0, 0},        {8.0, 8.0, 8.0}};

// Microseconds a step, [hardware][algorithm][protocol].
constexpr double kHop[3][kNcclAlgorithms][kNcclProtocols] = {
    {{0.6, 1.25, 4.0},
     {0.6, 1.9, 3.4},
     {0, 0, 3.7},
     {0, 0, 2.8},
     {0, 0, 25},
     {0, 0, 25},
     {0, 0, 4}},
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4}},
    {{5.0, 8.5, 14},
     {2.7, 4.0, 14.0},
     {0, 0, 31},
     {0, 0, 30},
     {0, 0, 18},
     {0, 0, 20.9},
     {0, 0, 14}}};

// GB/s by GPU generation (Volta, Ampere, Hopper, Blackwell) and nodes (1, 2, more).
using ByGeneration = double[4][3];
constexpr ByGeneration kLlMost = {
    {39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}};
constexpr ByGeneration kRingLl128PerChannel = {
    {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}};
constexpr ByGeneration kTreeLl128PerChannel = {
    {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}};
constexpr ByGeneration kTreePerChannel = {
    {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}};
constexpr ByGeneration kNvlsTreePerChannel = {
    {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}};
constexpr double kNvlsEfficiency[4] = {0, 0, 0.85, 0.74};

// Share of a tree's bandwidth that is reached, from 64 bytes in powers of two.
constexpr double kTreeShare[kNcclProtocols][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

int generation(int capability) {
  return capability >= 100 ? 3 : capability >= 90 ? 2 : capability >= 80 ? 1 : 0;
}
int nodeClass(int nodes) {
  return nodes <= 2 ? nodes - 1 : 2;
}
int log2Of(uint64_t value) {
  return value == 0 ? 0 : static_cast<int>(std::bit_width(value)) - 1;
}
bool gathers(int function) {
  return function == kAllGather || function == kReduceScatter;
}
bool collNet(int algorithm) {
  return algorithm == kCollNetDirect || algorithm == kCollNetChain;
}
bool nvls(int algorithm) {
  return algorithm == kNvls || algorithm == kNvlsTree;
}

/// Pairs that NCCL implements at all.
bool exists(int function, int algorithm, int protocol) {
  if ((function == kBroadcast || function == kReduce) && algorithm != kRing) return false;
  if (gathers(function) && algorithm != kPat && algorithm != kRing && algorithm != kNvls &&
      algorithm != kCollNetDirect)
    return false;
  if (function == kAllReduce && algorithm == kPat) return false;
  return protocol == kSimple || algorithm == kTree || algorithm == kRing;
}

}  // namespace

NcclModel::NcclModel(const NcclCluster& cluster) : cluster_(cluster) {
  if (cluster_.commChannels == 0) cluster_.commChannels = 2 * cluster_.graphs[kRing].channels;
  for (int f = 0; f < kNcclFunctions; ++f)
    for (int a = 0; a < kNcclAlgorithms; ++a)
      for (int p = 0; p < kNcclProtocols; ++p)
        if (exists(f, a, p))
          lines_[static_cast<size_t>(f)][static_cast<size_t>(a)][static_cast<size_t>(p)] = {
              latency(f, a, p), bandwidth(f, a, p)};
}

int NcclModel::steps(int function) const {
  if (function == kAllReduce) return 2 * (cluster_.ranks - 1);
  return gathers(function) ? cluster_.ranks - 1 : cluster_.ranks;
}

/// GB/s on the busiest link, summed over channels.
double NcclModel::busBandwidth(int function, int algorithm, int protocol) const {
  const NcclGraph& graph = cluster_.graphs[static_cast<size_t>(algorithm)];
  const int g = generation(cluster_.computeCapability), n = nodeClass(cluster_.nodes);
  const double perNode = static_cast<double>(cluster_.ranks) / cluster_.nodes;
  if (graph.channels == 0 || (protocol == kLL128 && !graph.ll128)) return 0;
  double one = cluster_.nodes <= 2 || collNet(algorithm) ? graph.intraGBps : graph.interGBps;
  if (nvls(algorithm)) {
    if (graph.channels < 2) return 0;
    double intra = graph.intraGBps * kNvlsEfficiency[g] * (graph.channels - 1) / graph.channels;
    intra *= function == kAllReduce ? 2 : (perNode - 1) / perNode;
    const double inter = graph.interGBps * (cluster_.nodes <= 2 && algorithm == kNvlsTree ? 2 : 1);
    one = std::min(intra, inter);
    if (algorithm == kNvlsTree) one = std::min(one, kNvlsTreePerChannel[g][n]);
  }
  double bus = graph.channels * one;
  const int ll = cluster_.nodes == 1 ? g : cluster_.cpu == CpuVendor::kAmd ? 1 : 0;
  if (algorithm == kRing && protocol == kLL) bus = std::min(kLlMost[ll][n], bus * .5);
  if (algorithm == kRing && protocol == kLL128)
    bus = std::min(bus * .92, graph.channels * kRingLl128PerChannel[g][n]);
  if (algorithm == kTree) {
    bus = std::min(bus * .92, graph.channels * kTreePerChannel[g][n]);
    if (protocol == kLL) bus = std::min(bus / 3.8, kLlMost[ll][n]);
    if (protocol == kLL128)
      bus = std::min(bus * (cluster_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                     graph.channels * kTreeLl128PerChannel[g][n]);
    if (cluster_.simpleTree) bus *= .85;
  }
  if (algorithm == kPat) bus *= .75;
  if (algorithm == kCollNetDirect) {
    if (gathers(function)) return perNode * std::min(graph.intraGBps, graph.interGBps * .9);
    double gpusPerNic = perNode / graph.channels;
    gpusPerNic -= (gpusPerNic - 1) / 2;
    bus /= gpusPerNic;
    if (cluster_.computeCapability >= 90) bus *= .85;
  }
  return bus;
}

double NcclModel::bandwidth(int function, int algorithm, int protocol) const {
  const bool onePerNode = cluster_.nodes == cluster_.ranks;
  if (algorithm == kPat && !(cluster_.patPossible && onePerNode)) return 0;
  if (algorithm == kNvlsTree && cluster_.nodes == 1) return 0;
  const double bus = busBandwidth(function, algorithm, protocol);
  if (algorithm != kRing && gathers(function)) return bus;
  const bool counted = algorithm == kRing || nvls(algorithm);
  return bus * (counted ? static_cast<double>(cluster_.ranks) / steps(function) : .5);
}

double NcclModel::ringLatency(int function, int protocol) const {
  const NcclGraph& graph = cluster_.graphs[kRing];
  const int hardware = graph.nvlink ? kNvLink : kPci;
  const int slowest = cluster_.nodes == 1 ? hardware : kNet;
  if (function == kReduce || function == kBroadcast) {
    if (graph.sameChannels) return kHop[slowest][kRing][protocol];
    return steps(function) * kHop[slowest][protocol == kSimple ? kTree : kRing][protocol];
  }
  const bool onePerNode = cluster_.nodes == cluster_.ranks;
  double intra = kHop[hardware][kRing][protocol];
  double inter = kHop[kNet][onePerNode ? kTree : kRing][protocol] +
                 graph.interLatencyUs * (protocol == kSimple ? 2 : 1);
  if (cluster_.nodes > 1) {
    const double post = cluster_.cpu == CpuVendor::kAmd ? 2.0 : 1.0;
    intra = std::max(intra, post * (protocol == kSimple ? 3 : 1));
  }
  const int hops = function == kAllReduce ? 2 * (cluster_.nodes - 1) : cluster_.nodes - 1;
  return (steps(function) - hops) * intra + hops * inter;
}

double NcclModel::latency(int function, int algorithm, int protocol) const {
  const NcclGraph& graph = cluster_.graphs[static_cast<size_t>(algorithm)];
  const bool onePerNode = cluster_.nodes == cluster_.ranks;
  const int perNode = cluster_.ranks / cluster_.nodes;
  const double base = kBase[algorithm][protocol];
  const double intra = kHop[graph.nvlink ? kNvLink : kPci][algorithm][protocol];
  const double inter = kHop[kNet][onePerNode ? kTree : algorithm][protocol] +
                       graph.interLatencyUs * (protocol == kSimple ? 2 : 1);
  const int levels = log2Of(static_cast<uint64_t>(cluster_.nodes));
  switch (algorithm) {
    case kRing:
      return base + ringLatency(function, protocol);
    case kTree:
      return base + 2 * ((perNode - 1) * intra + levels * inter);
    case kCollNetDirect:
      return base + 2 * (std::min(1, perNode - 1) * intra + (perNode - 1) * 0.4) + inter;
    case kCollNetChain:
      return base + 2 * (perNode - 1) * intra + inter;
    case kNvls:
      return intra + (cluster_.nodes > 1 ? inter : 0);
    case kNvlsTree:
      return base + intra + 2 * levels * inter;
    case kPat:
      return base + levels * (inter / 3.5) + cluster_.ranks * 2.8;
    default:
      return base;
  }
}

double NcclModel::timeOf(int function, int algorithm, int protocol, uint64_t bytes,
                         int pipeOps) const {
  const Line& line = lines_[static_cast<size_t>(function)][static_cast<size_t>(algorithm)]
                           [static_cast<size_t>(protocol)];
  if (line.GBps <= 0) return -1;
  double rate = line.GBps, wait = line.latencyUs;
  const int size = log2Of(bytes >> 6);
  if (algorithm == kTree && function == kAllReduce && size < 23) rate *= kTreeShare[protocol][size];
  if (algorithm == kNvlsTree && function == kAllReduce && size < 24 &&
      cluster_.computeCapability >= 100)
    rate *= kTreeShare[protocol][size];
  const auto parts =
      static_cast<uint64_t>(cluster_.commChannels) * static_cast<uint64_t>(cluster_.ranks);
  if (algorithm == kRing && protocol == kSimple && cluster_.nodes > 1 && function == kAllReduce &&
      bytes / std::max<uint64_t>(parts, 1) >= 64)
    wait *= cluster_.computeCapability < 80 ? 1.9 : 1.4;  // the plateau of a ring over a network
  const int rounds = algorithm == kRing ? pipeOps : (pipeOps + kBatch - 1) / kBatch;
  return wait * rounds + static_cast<double>(bytes) / (1000 * rate);
}

NcclTimes NcclModel::times(int function, uint64_t bytes, int pipeOps) const {
  NcclTimes table{};
  for (int a = 0; a < kNcclAlgorithms; ++a)
    for (int p = 0; p < kNcclProtocols; ++p)
      table[static_cast<size_t>(a)][static_cast<size_t>(p)] =
          timeOf(function, a, p, bytes, pipeOps);
  return table;
}

NcclChoice NcclModel::choice(int function, uint64_t bytes, int pipeOps) const {
  return smallest(times(function, bytes, pipeOps));
}

NcclChoice smallest(const NcclTimes& times) {
  NcclChoice best{-1, -1, std::numeric_limits<double>::infinity()};
  for (int a = 0; a < kNcclAlgorithms; ++a)
    for (int p = 0; p < kNcclProtocols; ++p) {
      const double us = times[static_cast<size_t>(a)][static_cast<size_t>(p)];
      if (us >= 0 && us < best.us) best = {a, p, us};
    }
  return best;
}

bool samePair(const NcclChoice& a, const NcclChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

std::vector<NcclCrossover> crossovers(const NcclModel& model, int function, uint64_t low,
                                      uint64_t high) {
  std::vector<NcclCrossover> found{{low, model.choice(function, low)}};
  for (uint64_t from = low; from < high;) {
    const uint64_t to = std::min(high, std::max(from + 1, from * 2));
    const NcclChoice end = model.choice(function, to);
    if (samePair(end, found.back().choice)) {
      from = to;
      continue;
    }
    uint64_t before = from, after = to;
    while (after - before > 1) {
      const uint64_t middle = before + (after - before) / 2;
      (samePair(model.choice(function, middle), found.back().choice) ? before : after) = middle;
    }
    found.push_back({after, model.choice(function, after)});
    from = after;
  }
  return found;
}

}  // namespace autoccl::sim
