#include "store/nccl/versions.h"

#include <array>

namespace autoccl::nccl {
namespace {

constexpr auto kNever = Lever::kNever;
constexpr auto kVariant = Lever::kVariant;
constexpr auto kCall = Lever::kCall;
constexpr std::string_view kEvents = "interposer's CUDA events";
constexpr std::string_view kStamps = "GPU stamps";
constexpr std::string_view kInterposer = "interposer";
constexpr std::string_view kProfiler = "profiler init";

//  releases from tuner profiler env  A P T NC NT C  times identity assumed
const std::vector<VersionRow> kRows{
    {"2.18", 21800, 0, 0, 0, kVariant, kVariant, kVariant, kVariant, kVariant, kVariant, kEvents,
     kInterposer},
    {"2.19-2.20", 21900, 1, 0, 0, kCall, kCall, kVariant, kVariant, kVariant, kVariant, kEvents,
     kInterposer},
    {"2.21", 22100, 2, 0, 0, kCall, kCall, kVariant, kCall, kVariant, kVariant, kEvents,
     kInterposer},
    {"2.22", 22200, 3, 0, 0, kCall, kCall, kVariant, kCall, kVariant, kVariant, kEvents,
     kInterposer},
    {"2.23", 22300, 3, 1, 0, kCall, kCall, kVariant, kCall, kVariant, kVariant, kEvents,
     kInterposer},
    {"2.24-2.25", 22400, 4, 2, 0, kCall, kCall, kVariant, kCall, kVariant, kVariant, kEvents,
     kInterposer},
    {"2.26", 22600, 4, 3, 0, kCall, kCall, kVariant, kCall, kVariant, kVariant, kEvents,
     kInterposer},
    {"2.27", 22700, 4, 4, 0, kCall, kCall, kVariant, kCall, kVariant, kVariant, kStamps, kProfiler},
    {"2.28", 22800, 5, 5, 1, kCall, kCall, kVariant, kCall, kVariant, kVariant, kStamps, kProfiler},
    {"2.29-2.30.2", 22900, 5, 6, 1, kCall, kCall, kVariant, kCall, kVariant, kVariant, kStamps,
     kProfiler},
    {"2.30.3+", 23003, 6, 6, 2, kCall, kCall, kVariant, kCall, kVariant, kCall, kStamps, kProfiler},
    {"2.31", 23100, 6, 7, 2, kCall, kCall, kVariant, kCall, kVariant, kCall, kStamps, kProfiler},
    {"2.32", 23200, 6, 7, 2, kCall, kCall, kVariant, kCall, kVariant, kCall, kStamps, kProfiler,
     true}};

std::string versionText(int version) {
  return version == 0 ? "-" : "v" + std::to_string(version);
}

}  // namespace

std::string_view toText(Lever lever) noexcept {
  constexpr std::array<std::string_view, 3> kWords{"never", "variant", "call"};
  return kWords[static_cast<size_t>(lever)];
}

const std::vector<VersionRow>& versionRows() {
  return kRows;
}

const VersionRow* versionRow(int versionCode) noexcept {
  const VersionRow* found = nullptr;
  for (const VersionRow& row : kRows)
    if (row.from <= versionCode) found = &row;
  return found;
}

std::string versionsMarkdown() {
  std::string text =
      "| NCCL | tuner | profiler | env | A | P | T | NC | NT | C | times from | rank from |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const VersionRow& r : kRows) {
    text += "| " + std::string(r.releases) + (r.assumed ? " (assumed)" : "");
    for (const int version : {r.tuner, r.profiler, r.env}) text += " | " + versionText(version);
    for (const Lever lever : {r.algorithm, r.protocol, r.transport, r.channels, r.threads, r.chunk})
      text += " | " + std::string(toText(lever));
    text += " | " + std::string(r.times) + " | " + std::string(r.identity) + " |\n";
  }
  return text;
}

}  // namespace autoccl::nccl
