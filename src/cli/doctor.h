// What `autoccl doctor` looks at: one section per subject, one line each in the table of
// doctor_command.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace autoccl::cli {

struct DoctorInput {
  std::vector<std::string> files;  // none: this machine
  int ncclVersion = 0;             // 0: as found
};

/// A section adds what it saw, as text for people, and what it has to say against it.
struct DoctorReport {
  std::string text;
  std::vector<Finding> findings;
  std::vector<std::string> unreadable;  // files, each with its reason: the others are still read
};

struct DoctorSection {
  std::string_view name;
  void (*look)(const DoctorInput& input, DoctorReport& report);
};

/// NCCL: the library, its settings and where they come from, rule files, logs.
void lookAtNccl(const DoctorInput& input, DoctorReport& report);

}  // namespace autoccl::cli
