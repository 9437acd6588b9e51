#include "cli/space_probe.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <sstream>

#include "autoccl/autoccl.h"
#include "base/clock.h"
#include "base/error.h"
#include "bench/exhaustive.h"
#include "cli/collective_caller.h"
#include "report/text_table.h"
#include "tune/policy.h"

namespace autoccl::cli {
namespace {

constexpr int kWarmUps = 3, kTimed = 9;

std::string subspaceName(const Config& c) {
  std::string name(toText(c.algorithm));
  name.append("/").append(toText(c.protocol)).append("/").append(toText(c.transport));
  return name.append(" wait=").append(toText(static_cast<WaitPolicy>(c.extra)));
}

std::string seconds(double us) {
  char text[64];
  if (us < 1e6)
    std::snprintf(text, sizeof text, "%.1f ms", us * 1e-3);
  else if (us < 120e6)
    std::snprintf(text, sizeof text, "%.1f s", us * 1e-6);
  else
    std::snprintf(text, sizeof text, "%.1f min", us * 1e-6 / 60);
  return text;
}

}  // namespace

class SpaceProbe::Impl {
 public:
  explicit Impl(int nRanks) : comms_(static_cast<size_t>(nRanks)) {
    needSuccess(acclCommInitAll(comms_.data(), nRanks), nullptr);
  }
  ~Impl() {
    for (acclComm_t comm : comms_) acclCommDestroy(comm);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  [[nodiscard]] acclComm_t first() const { return comms_[0]; }

  /// Times of kTimed calls on rank 0, with every rank as a thread.
  [[nodiscard]] std::vector<double> callTimesUs(const Task& task) const {
    std::vector<double> us;
    std::vector<std::future<void>> ranks;
    for (size_t r = 0; r < comms_.size(); ++r)
      ranks.push_back(std::async(std::launch::async, [&, r] {
        CollectiveCaller caller(comms_[r], task.bytes, true);
        for (int i = 0; i < kWarmUps + kTimed; ++i) {
          const int64_t begun = nowNs();
          caller.call(task.collective, task.bytes);
          if (r == 0 && i >= kWarmUps) us.push_back(static_cast<double>(nowNs() - begun) * 1e-3);
        }
      }));
    for (auto& rank : ranks) rank.get();
    return us;
  }

 private:
  std::vector<acclComm_t> comms_;
};

SpaceProbe::SpaceProbe(int nRanks) : impl_(std::make_unique<Impl>(nRanks)) {}
SpaceProbe::~SpaceProbe() = default;

std::vector<std::string> SpaceProbe::configs(const Task& task) const {
  const std::string collective(toText(task.collective));
  size_t needed = 0;
  needSuccess(acclCommSpace(impl_->first(), collective.c_str(), task.bytes, nullptr, 0, &needed),
              impl_->first());
  std::string text(needed, '\0');
  needSuccess(acclCommSpace(impl_->first(), collective.c_str(), task.bytes, text.data(),
                            text.size(), &needed),
              impl_->first());
  std::vector<std::string> lines;
  std::istringstream stream(text.c_str());
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

double SpaceProbe::defaultUs(const Task& task) const {
  std::vector<double> us = impl_->callTimesUs(task);
  std::nth_element(us.begin(), us.begin() + kTimed / 2, us.end());
  return us[kTimed / 2];
}

SpaceFacts SpaceProbe::facts(const Task& task, double defaultUs) const {
  return {task, countSubspaces(configs(task)), defaultUs};
}

size_t SpaceFacts::full() const {
  size_t n = 0;
  for (const SubspaceCount& s : subspaces) n += s.full;
  return n;
}

size_t SpaceFacts::thinned() const {
  size_t n = 0;
  for (const SubspaceCount& s : subspaces) n += s.thinned;
  return n;
}

std::vector<SubspaceCount> countSubspaces(const std::vector<std::string>& lines) {
  std::vector<SubspaceCount> counts;
  const auto of = [&](const std::string& line) -> SubspaceCount& {
    const std::string name = subspaceName(parseConfig(line));
    const auto at =
        std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.name == name; });
    return at != counts.end() ? *at : counts.emplace_back(SubspaceCount{name});
  };
  for (const std::string& line : lines) ++of(line).full;
  for (const std::string& line : bench::thinned(lines)) ++of(line).thinned;
  return counts;
}

std::string spaceText(const SpaceFacts& facts) {
  TextTable table({{"    subspace"}, {"configs", true}, {"thinned", true}});
  for (const SubspaceCount& s : facts.subspaces)
    table.row({"    " + s.name, std::to_string(s.full), std::to_string(s.thinned)});
  table.row({"    all " + std::to_string(facts.subspaces.size()), std::to_string(facts.full()),
             std::to_string(facts.thinned())});
  const PolicyOptions options;
  const auto time = [&](size_t calls) {
    return seconds(static_cast<double>(calls) * facts.defaultUs);
  };
  const auto each = static_cast<size_t>(options.callsPerTrial);
  std::string text = "  space\n" + table.text();
  if (facts.defaultUs <= 0) return text;
  return text + "  exhaustive   " + time(facts.full() * each) + " at " + std::to_string(each) +
         " calls a config of the default's " + figure(facts.defaultUs) + " us; thinned " +
         time(facts.thinned() * each) + "; ours at most " +
         time(static_cast<size_t>(options.maxCalls)) + " (" + std::to_string(options.maxCalls) +
         " calls)\n";
}

}  // namespace autoccl::cli
