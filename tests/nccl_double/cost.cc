#include "tests/nccl_double/cost.h"

#include <strings.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "model/cost.h"

namespace autoccl::nccl_double {
namespace {

using namespace nccl;

constexpr const char* kAlgoNames[kAlgos] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr const char* kAlgoWords[kAlgos] = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr const char* kProtoNames[kProtos] = {"LL", "LL128", "SIMPLE"};
constexpr const char* kFuncNames[kFuncs] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                            "AllReduce"};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

template <size_t N>
int indexOf(const char* const (&names)[N], const std::string& word) {
  for (size_t i = 0; i < N; ++i)
    if (strcasecmp(names[i], word.c_str()) == 0) return static_cast<int>(i);
  return -1;
}

/// One list for some functions: chosen[i] tells what stays.
template <size_t N>
bool readList(const char* const (&names)[N], std::string list, bool (&chosen)[N]) {
  const bool negated = !list.empty() && list[0] == '^';
  if (negated) list.erase(0, 1);
  std::fill(chosen, chosen + N, negated);
  bool known = true;
  for (const std::string& word : split(list, ',')) {
    const int index = indexOf(names, word);
    if (index < 0)
      known = false;
    else
      chosen[index] = !negated;
  }
  return known;
}

/// Applies a variable to all functions: cut(func, index) removes what the variable does not name.
template <size_t N, class Cut>
bool applyVariable(const char* const (&names)[N], const char* text, bool perFunction,
                   const Cut& cut) {
  if (text == nullptr || *text == 0) return true;
  bool known = true;
  for (const std::string& section :
       perFunction ? split(text, ';') : std::vector<std::string>{text}) {
    if (section.empty()) continue;
    const size_t colon = perFunction ? section.find(':') : std::string::npos;
    const int only =
        colon == std::string::npos ? -1 : indexOf(kFuncNames, section.substr(0, colon));
    if (colon != std::string::npos && only < 0) {
      known = false;
      continue;
    }
    bool chosen[N];
    known =
        readList(names, colon == std::string::npos ? section : section.substr(colon + 1), chosen) &&
        known;
    for (int func = 0; func < kFuncs; ++func)
      for (size_t i = 0; i < N; ++i)
        if ((only < 0 || only == func) && !chosen[i]) cut(func, static_cast<int>(i));
  }
  return known;
}

/// Steps of latency that the algorithm takes.
double stepsOf(const Machine& m, Func func, int algo) {
  const double n = m.nRanks, nodes = m.nNodes;
  switch (algo) {
    case kAlgoTree:
      return 2 * (n / nodes - 1 + std::ceil(std::log2(std::max(nodes, 2.0))));
    case kAlgoRing:
      return func == kFuncAllReduce ? 2 * (n - 1) : n - 1;
    case kAlgoPat:
      return std::ceil(std::log2(n));
    default:
      return 2;
  }
}

/// GB/s of all channels and us of one step.
struct Speed {
  double GBps, stepUs, baseUs;
};
Speed speedOf(const Machine& m, int algo, int proto) {
  const double link = m.nNodes > 1 ? 45 : 240;
  const double hop = m.nNodes > 1 ? 2.5 : 0.6;
  constexpr double kProtoShare[kProtos] = {0.28, 0.92, 1.0};
  constexpr double kProtoBase[kProtos] = {6, 8, 14};
  constexpr double kAlgoShare[kAlgos] = {0.85, 1.0, 0.9, 0.85, 1.15, 1.0, 0.75};
  return {link * kProtoShare[proto] * kAlgoShare[algo],
          hop * (proto == kProtoSimple ? 2.2 : 1) * (algo == kAlgoTree ? 1.3 : 1),
          kProtoBase[proto]};
}

/// Bytes that cross each link, per byte of nBytes.
double linkShare(const Machine& m, Func func, int algo) {
  const double n = m.nRanks;
  if (algo == kAlgoTree) return 2;
  if (algo == kAlgoNvls || algo == kAlgoNvlsTree) return func == kFuncAllReduce ? 1.1 : 0.9;
  if (func == kFuncAllReduce) return 2 * (n - 1) / n;
  return func == kFuncBroadcast || func == kFuncReduce ? 1 : (n - 1) / n;
}

/// A number in [0, 1) that is the same in every run and on every rank.
double drawn(uint64_t seed) {
  uint64_t x = seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

}  // namespace

bool readAllowed(const char* algos, const char* protos, bool perFunction, Allowed& allowed) {
  for (auto& func : allowed.pair)
    for (auto& algo : func) std::fill(algo, algo + kProtos, true);
  const bool algosKnown = applyVariable(kAlgoWords, algos, perFunction, [&](int func, int algo) {
    std::fill(allowed.pair[func][algo], allowed.pair[func][algo] + kProtos, false);
  });
  const bool protosKnown =
      applyVariable(kProtoNames, protos, perFunction, [&](int func, int proto) {
        for (auto& algo : allowed.pair[func]) algo[proto] = false;
      });
  return algosKnown && protosKnown;
}

bool possible(const Machine& m, bool patManyRanks, Func func, int algo, int proto) {
  if (proto == kProtoLL128 && !m.ll128) return false;
  const bool gathers = func == kFuncAllGather || func == kFuncReduceScatter;
  const bool simple = proto == kProtoSimple;
  switch (algo) {
    case kAlgoRing:
      return true;
    case kAlgoTree:
      return func == kFuncAllReduce;
    case kAlgoNvls:
      return m.nvls && simple && (func == kFuncAllReduce || gathers) &&
             (m.nNodes == 1 || m.collnet);
    case kAlgoNvlsTree:
      return m.nvls && simple && func == kFuncAllReduce && m.nNodes > 1;
    case kAlgoCollnetDirect:
      return m.collnet && simple && (func == kFuncAllReduce || gathers) && m.nNodes > 1;
    case kAlgoCollnetChain:
      return m.collnet && simple && func == kFuncAllReduce && m.nNodes > 1;
    default:
      return gathers && simple && m.nNodes > 1 && (m.nNodes == m.nRanks || patManyRanks);
  }
}

void predict(const Machine& m, const Allowed& allowed, bool patManyRanks, Func func, size_t nBytes,
             int pipeOps, CostTable& table) {
  for (int a = 0; a < kAlgos; ++a)
    for (int p = 0; p < kProtos; ++p) {
      table[a][p] = kEntryIgnored;
      if (!possible(m, patManyRanks, func, a, p) || !allowed.pair[func][a][p]) continue;
      const Speed s = speedOf(m, a, p);
      const double us = (s.baseUs + stepsOf(m, func, a) * s.stepUs) * std::max(pipeOps, 1) +
                        static_cast<double>(nBytes) * linkShare(m, func, a) / (1e3 * s.GBps);
      table[a][p] = static_cast<float>(us);
    }
}

double trueUs(const Machine& m, Func func, int algo, int proto, int channels, int warps,
              size_t chunk, size_t nBytes) {
  const uint64_t seed = static_cast<uint64_t>(func) * 1000 + static_cast<uint64_t>(algo) * 100 +
                        static_cast<uint64_t>(proto) * 10 + static_cast<uint64_t>(m.nNodes > 1);
  const auto factor = [&](uint64_t of) { return std::exp2(2 * drawn(seed * 8 + of) - 1); };
  const Speed s = speedOf(m, algo, proto);
  CostParameters p;
  p.fixedUs = (s.baseUs + stepsOf(m, func, algo) * s.stepUs) * factor(0);
  p.peak0 = s.GBps * 1e3 / linkShare(m, func, algo) * factor(1) * 1.3;
  p.startUs0 = 3 * factor(2);
  p.peak1 = p.peak0 * 1.4;
  p.startUs1 = 0.05 * factor(3);
  if (m.way != Way::kP2p) {  // a copy more a byte, but nothing to set up between devices
    p.fixedUs *= m.way == Way::kShm ? 0.8 : 1.5;
    p.peak0 *= m.way == Way::kShm ? 0.5 : 0.7;
    p.peak1 *= m.way == Way::kShm ? 0.5 : 0.7;
  }
  p.perByte = 0.25 / (16.0 * 512 * 1024) * factor(4);
  p.perWorker = 0.2 / (24.0 * 512) * factor(5);
  Config c;
  c.channels = static_cast<uint16_t>(std::clamp(channels, 1, 64));
  c.threads = static_cast<uint16_t>(std::clamp(warps, 1, 20) * 32);
  c.chunk = static_cast<uint32_t>(std::clamp<size_t>(chunk, 16, size_t{1} << 30));
  return costUs(p, nBytes, c);
}

const char* nameOfWay(Way way) {
  return way == Way::kP2p ? "p2p" : way == Way::kShm ? "shm" : "net";
}
const char* nameOfAlgo(int algo) {
  return algo >= 0 && algo < kAlgos ? kAlgoNames[algo] : "Unknown";
}
const char* nameOfProto(int proto) {
  return proto >= 0 && proto < kProtos ? kProtoNames[proto] : "Unknown";
}
const char* nameOfFunc(int func) {
  return func >= 0 && func < kFuncs ? kFuncNames[func] : "Unknown";
}

}  // namespace autoccl::nccl_double
