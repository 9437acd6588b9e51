#include "bench/conductor.h"

#include <algorithm>

#include "base/error.h"
#include "bench/stats.h"

namespace autoccl::bench {
namespace {

constexpr uint32_t kMinCalls = 3;     // in a round
constexpr uint32_t kMaxCalls = 1000;  // in a round
constexpr double kCommandTimeoutS = 60;

Command commandFor(const Exercise& e, const Contender& c) {
  Command command;
  command.collective = e.collective;
  command.bytes = e.bytes;
  command.load = e.load;
  command.registered = c.registered;
  command.sleepyBarrier = c.sleepyBarrier;
  command.warmups = 1;
  setText(command.config, c.config);
  return command;
}

GroupReply tryRun(Group& group, const Command& command) {
  try {
    return group.run(command, kCommandTimeoutS);
  } catch (const Error& e) {
    GroupReply failed;
    failed.error = e.what();
    return failed;
  }
}

/// Calls a round, from a first few that are thrown away. A call costs about twice its time: the
/// input is written anew before each.
uint32_t callsPerRound(const Exercise& e, const Contender& c, Series& series) {
  Command command = commandFor(e, c);
  command.iterations = kMinCalls;
  const GroupReply reply = tryRun(*c.group, command);
  series.error = reply.error;
  const double us = std::max(0.2, median(reply.us));
  return static_cast<uint32_t>(
      std::clamp(e.roundMs * 1000 / (2 * us), double{kMinCalls}, double{kMaxCalls}));
}

void measureOnce(const Exercise& e, const Contender& c, uint32_t calls, Series& series) {
  Command command = commandFor(e, c);
  command.iterations = calls;
  command.check = e.check;
  command.maxMs = static_cast<uint32_t>(e.roundMs * 10);
  const GroupReply reply = tryRun(*c.group, command);
  series.error = reply.error;
  if (!reply.error.empty() || reply.us.empty()) return;
  series.us.insert(series.us.end(), reply.us.begin(), reply.us.end());
  series.rounds.push_back(median(reply.us));
  series.wrong += reply.wrong;
  series.loadGflops += reply.loadGflops / e.rounds;
  series.config = reply.config;
}

}  // namespace

std::vector<Series> measureInterleaved(const Exercise& e, std::span<const Contender> contenders) {
  const size_t n = contenders.size();
  std::vector<Series> series(n);
  std::vector<uint32_t> calls(n);
  for (size_t i = 0; i < n; ++i) calls[i] = callsPerRound(e, contenders[i], series[i]);
  for (int round = 0; round < e.rounds; ++round)
    for (size_t k = 0; k < n; ++k) {
      const size_t i = (k + static_cast<size_t>(round)) % n;
      if (series[i].error.empty()) measureOnce(e, contenders[i], calls[i], series[i]);
    }
  return series;
}

}  // namespace autoccl::bench
