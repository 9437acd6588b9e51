// One group of ranks under test, as the conductor sees it: started, commanded, ended.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/control.h"

namespace autoccl::bench {

/// How to start a group. `argv` is one worker, started once a rank, unless `launcher`: then it is a
/// launcher's command line that starts all ranks itself.
struct GroupSpec {
  std::string name;
  std::vector<std::string> argv;
  bool launcher = false;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What a command brought: a time for each call, in microseconds, the slowest rank's.
struct GroupReply {
  std::vector<double> us;
  uint64_t wrong = 0;
  double loadGflops = 0;  // over all ranks
  bool tuned = false;
  std::string config;
  std::string error;  // "" where the command was carried out
};

/// Between commands the ranks sleep in the kernel. The ranks end with this object, at the latest a
/// second after the conductor's own end. Start-up errors and a group that dies or does not answer
/// throw Error with the last lines that the group wrote. Thread-compatible.
class Group {
 public:
  Group(GroupSpec spec, int nRanks, int cores);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return spec_.name; }
  [[nodiscard]] GroupReply run(const Command& command, double timeoutS);
  /// kSpace: one config a line.
  [[nodiscard]] std::vector<std::string> space(Collective collective, uint64_t bytes);

 private:
  void start();
  void startProcess(const std::vector<std::pair<std::string, std::string>>& environment);
  void await(Flag& flag, uint32_t target, double timeoutS, const std::string& doing);
  [[nodiscard]] bool anyEnded() noexcept;
  [[nodiscard]] GroupReply collect(const Command& command) const;
  [[nodiscard]] std::string lastWords() const;
  void awaitEnd(double timeoutS) noexcept;
  void endByForce() noexcept;

  GroupSpec spec_;
  int nRanks_;
  ControlBlock control_;
  int log_ = -1;  // memfd that takes the group's output
  std::vector<pid_t> processes_;
  int lastStatus_ = 0;  // of the process that ended last
  bool lost_ = false;   // dead or hung: takes no more commands
  uint32_t commands_ = 0;
};

}  // namespace autoccl::bench
