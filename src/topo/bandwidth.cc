#include "topo/bandwidth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "topo/words.h"

namespace autoccl::topo {
namespace {

// NCCL compares the beginning of the text with these, in this order. Source: NCCL 2.30
// graph/topo.cc; in units of 100 Mbit/s a lane.
struct KnownSpeed {
  std::string_view text;
  int perLane;
};
constexpr std::array<KnownSpeed, 11> kKnownSpeeds = {{{"2.5 GT/s", 15},
                                                      {"5 GT/s", 30},
                                                      {"8 GT/s", 60},
                                                      {"16 GT/s", 120},
                                                      {"32 GT/s", 240},
                                                      {"2.5 GT/s PCIe", 15},
                                                      {"5.0 GT/s PCIe", 30},
                                                      {"8.0 GT/s PCIe", 60},
                                                      {"16.0 GT/s PCIe", 120},
                                                      {"32.0 GT/s PCIe", 240},
                                                      {"64.0 GT/s PCIe", 480}}};
constexpr int kUnknownSpeed = 60;
constexpr double kNoLimit = 5000;

int lanes(int width) {
  return width <= 0 ? 16 : width;
}

}  // namespace

std::optional<double> gigatransfers(std::string_view linkSpeed) {
  const std::string text(trimmed(linkSpeed));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value > 0) || value > 1000) return std::nullopt;
  return value;
}

double pciGBps(double gigatransfersPerSecond, int width) {
  constexpr std::array<std::pair<double, int>, 6> kGenerations = {
      {{2.5, 15}, {5, 30}, {8, 60}, {16, 120}, {32, 240}, {64, 480}}};
  double perLane = gigatransfersPerSecond * 7.5;
  for (const auto& [speed, value] : kGenerations)
    if (std::fabs(speed - gigatransfersPerSecond) < 0.01) perLane = value;
  return perLane * lanes(width) / 80;
}

NcclLink ncclPciLink(std::string_view linkSpeed, int width) {
  const auto known = std::ranges::find_if(
      kKnownSpeeds, [&](const KnownSpeed& s) { return linkSpeed.starts_with(s.text); });
  const bool found = known != kKnownSpeeds.end();
  return {(found ? known->perLane : kUnknownSpeed) * lanes(width) / 80.0, found};
}

std::string ncclSpelling(const std::string& linkSpeed) {
  const auto speed = gigatransfers(linkSpeed);
  if (!speed || ncclPciLink(linkSpeed, 16).known) return linkSpeed;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GT/s PCIe", *speed);
  return ncclPciLink(text, 16).known ? text : linkSpeed;
}

double nicGBps(int64_t mbps) {
  return static_cast<double>(mbps <= 0 ? 10000 : mbps) / 8000;
}

double nvlinkGBps(int computeCapability) {
  if (computeCapability >= 100) return 40.1;
  if (computeCapability >= 90) return 20.6;
  if (computeCapability == 86) return 12;
  if (computeCapability >= 70) return 20;
  return 18;
}

double xgmiGBps(std::string_view gcn) {
  if (gcn.starts_with("gfx94") || gcn.starts_with("gfx95")) return 48;
  return gcn.starts_with("gfx90a") ? 36 : 24;
}

double socketGBps(const NumaNode& numa) {
  if (numa.arch == "ppc64") return 32;
  if (numa.arch == "arm64") return 6;
  if (numa.arch != "x86_64") return kNoLimit;
  if (numa.vendor == "AuthenticAMD") return 16;
  if (numa.vendor != "GenuineIntel") return kNoLimit;
  if (numa.family != 6) return 6;
  if (numa.model >= 0xcf) return 40;
  if (numa.model >= 0x8f) return 22;
  return numa.model >= 0x55 ? 10 : 6;
}

std::string bandwidthText(double GBps) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g GB/s", GBps);
  return text;
}

}  // namespace autoccl::topo
