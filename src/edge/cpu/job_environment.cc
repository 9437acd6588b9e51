#include "edge/cpu/job_environment.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/launchers.h"

namespace autoccl {
namespace {

std::string text(Lookup lookup, const char* name) {
  const char* value = name != nullptr ? lookup(name) : nullptr;
  return value != nullptr ? value : "";
}

int number(Lookup lookup, const char* name, int least) {
  const std::string value = text(lookup, name);
  int n = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc() || end != value.data() + value.size() || n < least)
    throw Error(ErrorCode::kUsage, std::string(name) + "='" + value + "' is no number of ranks",
                "allowed: whole numbers from " + std::to_string(least));
  return n;
}

/// MPICH's ranks on one host are children of one proxy; its start time tells two jobs apart.
std::string parentName() {
  const std::string pid = std::to_string(::getppid());
  std::ifstream in("/proc/" + pid + "/stat");
  std::string line;
  std::getline(in, line);
  size_t at = line.rfind(')');
  for (int field = 3; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  return pid + "." +
         (at == std::string::npos ? "" : line.substr(at + 1, line.find(' ', at + 1) - at - 1));
}

/// FNV-1a (Fowler, Noll, Vo): shortens a name, guards nothing.
std::string shortened(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

JobPlace placeOf(const Launcher& launcher, Lookup lookup) {
  JobPlace place;
  place.launcher = launcher.name;
  place.rank = number(lookup, launcher.rank, 0);
  place.nRanks = number(lookup, launcher.nRanks, 1);
  if (place.rank >= place.nRanks)
    throw Error(ErrorCode::kUsage, std::string(launcher.rank) + "=" + std::to_string(place.rank) +
                                       " is not below " + launcher.nRanks + "=" +
                                       std::to_string(place.nRanks));
  if (!text(lookup, launcher.localRanks).empty() &&
      number(lookup, launcher.localRanks, 1) != place.nRanks)
    throw Error(
        ErrorCode::kUsage,
        place.launcher + " started " + std::to_string(place.nRanks) + " ranks on several hosts",
        "the CPU engine joins the ranks of one host: start them all there");
  std::string job;
  for (const char* name : launcher.job) job += text(lookup, name) + "/";
  if (place.launcher == "MPICH") job += parentName();
  place.token = shortened(place.launcher + "/" + job);
  return place;
}

}  // namespace

JobPlace jobPlace(Lookup lookup) {
  for (const Launcher& launcher : kLaunchers) {
    const bool speaks =
        !text(lookup, launcher.rank).empty() && !text(lookup, launcher.nRanks).empty();
    if (speaks) return placeOf(launcher, lookup);
  }
  throw Error(
      ErrorCode::kUsage, "no launcher has set a rank for this process",
      "start it by `autoccl run -n N -- CMD` or set AUTOCCL_RANK, AUTOCCL_NRANKS and AUTOCCL_ID");
}

UniqueId idOf(const JobPlace& place, int nth) {
  return uniqueIdFrom("job-" + place.token + "-" + std::to_string(nth));
}

}  // namespace autoccl
