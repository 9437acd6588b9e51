#include "cli/profile_checks.h"

#include <algorithm>
#include <cmath>

#include "report/text_table.h"

namespace autoccl::cli {
namespace {

constexpr int kFewSamples = 8;
constexpr double kSameTime = 0.05;

void checkEntry(const ProfileEntry& e, const std::string& library, std::vector<std::string>& out) {
  const std::string name = toText(e.task) + ": ";
  if (e.library != library)
    out.push_back(name + "learned with " + e.library + ", this is " + library +
                  "; its choice is tried again before it is used");
  if (e.samples < kFewSamples)
    out.push_back(name + "rests on " + std::to_string(e.samples) + " samples only");
  if (e.defaultUs <= 0 || e.tunedUs <= 0)
    out.push_back(name + "has no times");
  else if (std::fabs(e.defaultUs / e.tunedUs / e.gain - 1) > kSameTime)
    out.push_back(name + "default/tuned is " + factor(e.defaultUs / e.tunedUs) +
                  " but the gain says " + factor(e.gain));
  if (e.config != e.defaultConfig && e.gainLow < 1)
    out.push_back(name + "the choice may be slower than the default (gain from " +
                  factor(e.gainLow) + ")");
}

bool sameTimes(const ProfileEntry& a, const ProfileEntry& b) {
  const double difference = std::fabs(a.tunedUs - b.tunedUs);
  const double spread = 1.96 * std::hypot(a.tunedSe, b.tunedSe);
  return difference <= std::max(spread, kSameTime * std::max(a.tunedUs, b.tunedUs));
}

}  // namespace

std::vector<std::string> profileFindings(const Profile& profile, const std::string& machine,
                                         const std::string& library) {
  std::vector<std::string> out;
  if (profile.machine != machine)
    out.push_back("learned on another machine (" + profile.machine + "; this is " + machine +
                  "): every look-up misses");
  for (const ProfileEntry& e : profile.entries) checkEntry(e, library, out);
  return out;
}

std::vector<std::string> profileDifferences(const Profile& before, const Profile& after) {
  std::vector<std::string> out;
  if (before.machine != after.machine)
    out.push_back("machines differ: " + before.machine + " and " + after.machine);
  for (const ProfileEntry& a : before.entries) {
    const ProfileEntry* b = after.find(a.task);
    const std::string name = toText(a.task) + ": ";
    if (b == nullptr)
      out.push_back(name + "only in the first");
    else if (a.config != b->config)
      out.push_back(name + toText(a.config) + " (" + figure(a.tunedUs) + " us) became " +
                    toText(b->config) + " (" + figure(b->tunedUs) + " us)");
    else if (!sameTimes(a, *b))
      out.push_back(name + "the same config went from " + figure(a.tunedUs) + " to " +
                    figure(b->tunedUs) + " us");
  }
  for (const ProfileEntry& b : after.entries)
    if (before.find(b.task) == nullptr) out.push_back(toText(b.task) + ": only in the second");
  return out;
}

}  // namespace autoccl::cli
