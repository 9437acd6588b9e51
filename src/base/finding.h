// What a reader has to say against a file or a setting, for people.
#pragma once

#include <string>

namespace autoccl {

/// One finding: where it was seen ("environment", "/etc/nccl.conf:3"), what it is, what follows
/// from it, and exactly what to change. `rule` is a short name of what was looked for, for
/// machines.
struct Finding {
  std::string where;
  std::string what;
  std::string consequence;
  std::string fix;
  std::string rule = {};

  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace autoccl
