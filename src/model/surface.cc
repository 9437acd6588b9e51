#include "model/surface.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace autoccl {
namespace {

/// Own draws rather than std distributions: the same numbers with every standard library.
double unit(std::mt19937_64& chance) {
  return double(chance() >> 11) * 0x1p-53;
}
double logUniform(std::mt19937_64& chance, double low, double high) {
  return low * std::pow(high / low, unit(chance));
}
double normal(std::mt19937_64& chance) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(chance)));
  return radius * std::cos(2 * std::numbers::pi * unit(chance));
}

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a ^ (b * 0x9E3779B97F4A7C15u);
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9u;
  return x ^ (x >> 29);
}

constexpr uint64_t kLeastBytes = 1 << 20;
/// A normal deviate that is a function of a place.
double placeNormal(uint64_t place) {
  const double u = double(mix(place, 3) >> 11) * 0x1p-53, v = double(mix(place, 5) >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
}

constexpr double kWavesPerOctave = 0.2;  // a wave is 5 octaves long
constexpr double kFlatBandwidth = 1e4;   // bytes/us
constexpr uint64_t kMostBytes = 256 << 20;
constexpr Algorithm kSurfaceAlgorithms[] = {Algorithm::kRing, Algorithm::kTree};
constexpr Protocol kSurfaceProtocols[] = {Protocol::kLL, Protocol::kLL128, Protocol::kSimple};
constexpr Transport kSurfaceTransports[] = {Transport::kShm, Transport::kP2p};

std::vector<uint32_t> chunkGrid() {
  std::vector<uint32_t> grid;
  for (double c = 4096; c <= 2.1 * (1 << 20); c *= std::numbers::sqrt2)
    grid.push_back(static_cast<uint32_t>(c / 64) * 64);
  return grid;
}

}  // namespace

void Surface::drawSpace(std::mt19937_64& chance) {
  space_.task.nRanks = 8;
  space_.task.bytes = uint64_t(logUniform(chance, kLeastBytes, kMostBytes)) & ~uint64_t{63};
  const std::vector<uint32_t> chunks = chunkGrid();
  for (const Algorithm a : kSurfaceAlgorithms)
    for (const Protocol p : kSurfaceProtocols)
      for (const Transport t : kSurfaceTransports)
        space_.subspaces.push_back({a,
                                    p,
                                    t,
                                    0,
                                    {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64},
                                    {96, 128, 160, 192, 256, 320, 384, 512, 640},
                                    chunks,
                                    static_cast<uint32_t>(a)});
  space_.fallback = {Algorithm::kRing, Protocol::kSimple, Transport::kP2p, 0, 8, 512, 1 << 19};
  space_.fallbackClass = static_cast<uint32_t>(Algorithm::kRing);
  const uint64_t bytes = space_.task.bytes;
  space_.valid = [bytes](const Config& c) { return uint64_t{c.channels} * c.chunk <= bytes; };
  while (!space_.valid(space_.fallback)) space_.fallback.chunk /= 2;
}

void Surface::drawParameters(std::mt19937_64& chance) {
  const double link = logUniform(chance, 4e3, 40e3);
  for (size_t i = 0; i < space_.subspaces.size(); ++i) {
    const double halfBytes = logUniform(chance, 64e3, 2e6);   // NC*C at half the peak
    const double halfWorkers = logUniform(chance, 200, 4e3);  // NC*NT at half the peak
    CostParameters p;
    p.peak0 = link * logUniform(chance, 0.5, 2);
    p.peak1 = link * logUniform(chance, 0.8, 3);
    p.startUs0 = halfBytes / p.peak0;
    p.startUs1 = halfWorkers / p.peak1;
    p.perByte = 1 / (halfBytes * logUniform(chance, 4, 64));
    p.perWorker = 1 / (halfWorkers * logUniform(chance, 4, 64));
    p.fixedUs = logUniform(chance, 4, 40);
    parameters_.push_back(p);
    for (double& phase : waves_.emplace_back()) phase = 2 * std::numbers::pi * unit(chance);
  }
}

Surface::Surface(const Options& options) : options_(options) {
  std::mt19937_64 chance(mix(options.seed, 77));
  drawSpace(chance);
  drawParameters(chance);
  oracleUs_ = trueUs(space_.fallback);
  for (const Subspace& s : space_.subspaces)
    for (size_t i = 0; i < s.channels.size(); ++i)
      for (size_t j = 0; j < s.threads.size(); ++j)
        for (size_t k = 0; k < s.chunks.size(); ++k)
          if (const Config c = s.at(i, j, k); space_.valid(c))
            oracleUs_ = std::min(oracleUs_, trueUs(c));
}

size_t Surface::subspaceOf(const Config& c) const {
  for (size_t i = 0; i < space_.subspaces.size(); ++i)
    if (space_.subspaces[i].holds(c)) return i;
  return 0;
}

double Surface::trueUs(const Config& c) const {
  if (options_.flat) return double(space_.task.bytes) / kFlatBandwidth;
  const size_t sub = subspaceOf(c);
  const double axes[] = {std::log2(c.channels), std::log2(c.threads), std::log2(c.chunk)};
  double wave = 0;
  for (size_t i = 0; i < std::size(axes); ++i)
    wave += options_.misfit *
            std::sin(waves_[sub][i] + axes[i] * kWavesPerOctave * 2 * std::numbers::pi);
  const uint64_t place = mix(mix(options_.seed, c.channels), mix(c.threads, c.chunk)) ^ sub;
  return costUs(parameters_[sub], space_.task.bytes, c) *
         std::exp(wave + options_.unevenness * placeNormal(place));
}

double Noise::measure(double trueUs) {
  const double phase = 2 * std::numbers::pi * double(call_) / options_.swingCalls;
  walked_ += options_.walk * normal(chance_);
  double us = trueUs * std::exp(options_.sd * normal(chance_) + walked_) *
              (1 + options_.swing * std::sin(phase));
  if (unit(chance_) < options_.stragglers)
    us *= 1.5 + (options_.stragglerFactor - 1.5) * unit(chance_);
  if (call_ >= options_.riseAt) us *= options_.rise;
  ++call_;
  return us;
}

}  // namespace autoccl
