// What `autoccl doctor` looks at: one section per subject, one line each in the table of
// doctor_command.cc; one reader per kind of file, one line each in the table of doctor_files.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/finding.h"
#include "store/nccl/bench_table.h"
#include "topo/host.h"

namespace autoccl::cli {

struct DoctorInput {
  std::vector<std::string> files;  // none: this machine
  int ncclVersion = 0;             // 0: as found
  int pid = 0;                     // whose placement; 0: this process
  double limitGBps = 0;  // of the path of a bandwidth table; 0: from a topology, or unknown
  double enoughPercent = 70;
  uint64_t messageBytes = 0;  // what the program sends at once; 0: unknown
};

/// A section adds what it saw, as text for people, and what it has to say against it.
struct DoctorReport {
  std::string text;
  std::vector<Finding> findings;
  std::vector<std::string> unreadable;  // files, each with its reason: the others are still read

  void add(std::vector<Finding> more) {
    findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  }
};

struct DoctorSection {
  std::string_view name;
  bool ofFiles;  // looks at the files, else at this machine
  void (*look)(const DoctorInput& input, DoctorReport& report);
};

/// What files are compared with each other about, when all have been read.
struct DoctorFiles {
  std::deque<topo::Host> hosts;
  std::vector<std::pair<std::string, const topo::Host*>> named;
  std::vector<nccl::BenchTable> tables;
};

/// NCCL: the library, its settings and where they come from.
void lookAtNccl(const DoctorInput& input, DoctorReport& report);
/// HCCL_ variables.
void lookAtHccl(const DoctorInput& input, DoctorReport& report);
/// The live topology and its limits; where the process runs, and what its variables do here.
void lookAtMachine(const DoctorInput& input, DoctorReport& report);
/// Each file by what is in it, then bandwidth tables and topologies against each other.
void lookAtFiles(const DoctorInput& input, DoctorReport& report);

/// Findings of tables, alone and pair by pair; the limit of each from `files.hosts` where the input
/// gives none.
void lookAtTables(const DoctorInput& input, const DoctorFiles& files, DoctorReport& report);

}  // namespace autoccl::cli
