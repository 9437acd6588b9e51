// What the ranks of a log have in common and where they differ.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "store/nccl/log_lines.h"

namespace autoccl::nccl {

/// A choice that a log shows, with how often and where first.
struct SeenChoice {
  LogChoice choice;
  size_t times = 0;
  size_t line = 0;
};

/// Takes a log line by line. Memory grows with what is different, at most kMost of a kind.
class LogRanks {
 public:
  static constexpr size_t kMost = 4096;

  /// True if the line is of a form that is read here.
  bool line(std::string_view text, size_t number);
  /// Settings, networks and NIC maps that differ between ranks; channels asked for and not given;
  /// sockets where RDMA was found to be absent.
  [[nodiscard]] std::vector<Finding> findings(const std::string& file) const;
  [[nodiscard]] std::vector<SeenChoice> choices() const;
  [[nodiscard]] int channels() const { return channels_; }

 private:
  struct Said {
    std::string value;
    std::string who;
    size_t line = 0;
  };
  using ByName = std::map<std::string, std::vector<Said>, std::less<>>;

  void say(ByName& all, std::string_view name, std::string_view value, std::string_view text,
           size_t number);
  void hop(const LogHop& hop, std::string_view text, size_t number);
  void differences(const ByName& all, const std::string& file, std::string_view what,
                   std::string_view consequence, std::string_view fix, std::string_view rule,
                   std::vector<Finding>& out) const;
  void channelsAsked(const std::string& file, std::vector<Finding>& out) const;

  ByName settings_, networks_, versions_;
  ByName nics_;  // of "channel, local GPU": the NIC, by host
  std::map<std::tuple<int, uint64_t, int, int, int>, SeenChoice> choices_;
  int channels_ = 0, peerChannels_ = 0;
  size_t channelsLine_ = 0;
};

}  // namespace autoccl::nccl
