// The step plans' side of a communicator: their wires in the segment and the runner over them.
#pragma once

#include <array>
#include <vector>

#include "engine/flight.h"
#include "engine/plan_runner.h"

namespace autoccl {

/// How much the wires of n ranks may take: less for each pair as there are more pairs.
[[nodiscard]] WireGeometry wireGeometry(int nRanks) noexcept;
[[nodiscard]] size_t wireBytes(int nRanks) noexcept;

/// True for the algorithms that step plans carry.
[[nodiscard]] constexpr bool isPlanned(Algorithm a) noexcept {
  return a == Algorithm::kRing || a == Algorithm::kTree || a == Algorithm::kHalvingDoubling;
}

/// One rank's plans. offers() remembers its answers; the rest is as hot as PlanRunner.
class Plans {
 public:
  Plans(std::byte* shared, int nRanks, int rank)
      : wires_(shared, wireGeometry(nRanks), rank), runner_(rank, wires_) {}

  [[nodiscard]] bool offers(const Config& config, Collective collective);
  [[nodiscard]] bool run(Flight& flight, WorkerPool& pool) noexcept;

 private:
  struct Answer {
    Config config;
    Collective collective;
    bool offered;
  };
  WireSet wires_;
  PlanRunner runner_;
  std::array<PeerBuffers, kMaxRanks> peers_{};
  std::vector<Answer> answers_;
};

}  // namespace autoccl
