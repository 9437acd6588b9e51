// What can be said against a profile, and between two. Pure.
#pragma once

#include <string>
#include <vector>

#include "store/profile.h"

namespace autoccl::cli {

/// A sentence for each doubt: learned on another machine or by another version, too few samples, a
/// choice that is slower than the default, gains that contradict the times.
[[nodiscard]] std::vector<std::string> profileFindings(const Profile& profile,
                                                       const std::string& machine,
                                                       const std::string& library);

/// A sentence for each task that only one has, whose config differs, or whose times differ by more
/// than both their spreads and 5 %.
[[nodiscard]] std::vector<std::string> profileDifferences(const Profile& before,
                                                          const Profile& after);

}  // namespace autoccl::cli
