// A group of ranks for tests: as threads of this process, or as processes of their own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "engine/communicator.h"

namespace autoccl::testing {

using RankBody = std::function<void(Communicator&)>;

/// Runs the body on n ranks, each with a communicator of the group; returns when all have returned.
void runAsThreads(int nRanks, const RankBody& body);

/// The same in forked processes. A rank that returns leaves with 0, or with 1 if a gtest assertion
/// failed in it; who dies by a signal has -signal. Returns the statuses by rank.
std::vector<int> runAsProcesses(int nRanks, const RankBody& body);

/// Starts the processes and leaves them running.
std::vector<pid_t> startProcesses(int nRanks, const RankBody& body);
std::vector<int> awaitProcesses(const std::vector<pid_t>& processes);

/// The communicator that rank `rank` of the group `id` would get.
[[nodiscard]] Communicator::Options optionsOf(const UniqueId& id, int rank, int nRanks);

}  // namespace autoccl::testing
