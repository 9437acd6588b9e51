#include "cli/launch.h"

#include <sched.h>
#include <sys/random.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "base/error.h"
#include "base/launchers.h"

namespace autoccl::cli {
namespace {

constexpr std::string_view kOurselves = "autoccl run";

int numberOf(const char* name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error(ErrorCode::kUsage, std::string(name) + "='" + text + "' is no rank or count",
                "allowed: a whole number from 0");
  return value;
}

}  // namespace

std::optional<LaunchedRank> launchedRank(const Lookup& lookup) {
  for (const Launcher& c : kLaunchers) {
    const auto rank = lookup(c.rank), nRanks = lookup(c.nRanks);
    if (c.name == kOurselves || !rank || !nRanks) continue;
    const LaunchedRank found{c.name, numberOf(c.rank, *rank), numberOf(c.nRanks, *nRanks)};
    if (found.rank >= found.nRanks)
      throw Error(ErrorCode::kUsage,
                  std::string(c.rank) + "=" + *rank + " is not below " + c.nRanks + "=" + *nRanks);
    return found;
  }
  return std::nullopt;
}

Variables variablesUnder(const LaunchedRank& rank, int parent, const Lookup& lookup) {
  const std::string nRanks = std::to_string(rank.nRanks);
  if (rank.launcher != "MPICH" || lookup("MPI_LOCALNRANKS").value_or(nRanks) != nRanks) return {};
  return {{"AUTOCCL_RANK", std::to_string(rank.rank)},
          {"AUTOCCL_NRANKS", nRanks},
          {"AUTOCCL_ID", "mpich-" + std::to_string(parent)}};
}

std::vector<int> coresOf(int rank, int nRanks, const std::vector<int>& allowed) {
  const auto n = static_cast<size_t>(nRanks), r = static_cast<size_t>(rank);
  if (allowed.empty()) return {};
  if (allowed.size() < n) return {allowed[r % allowed.size()]};
  const size_t first = r * allowed.size() / n, last = (r + 1) * allowed.size() / n;
  return {allowed.begin() + static_cast<std::ptrdiff_t>(first),
          allowed.begin() + static_cast<std::ptrdiff_t>(last)};
}

std::vector<int> allowedCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(static_cast<size_t>(i), &set)) cores.push_back(i);
  return cores;
}

std::string newJobId() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(ErrorCode::kSystem, "the kernel gives no random bytes for the job's name");
  std::string id;
  for (const unsigned char b : bytes) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", b);
    id += text;
  }
  return id;
}

}  // namespace autoccl::cli
