#include <array>
#include <map>
#include <string_view>

#include "edge/cpu/job_environment.h"
#include "fuzz/fuzz.h"

namespace {

constexpr std::array<const char*, 24> kNames{"AUTOCCL_RANK",
                                             "AUTOCCL_NRANKS",
                                             "AUTOCCL_ID",
                                             "RANK",
                                             "WORLD_SIZE",
                                             "LOCAL_WORLD_SIZE",
                                             "TORCHELASTIC_RUN_ID",
                                             "TORCHELASTIC_RESTART_COUNT",
                                             "MASTER_ADDR",
                                             "MASTER_PORT",
                                             "OMPI_COMM_WORLD_RANK",
                                             "OMPI_COMM_WORLD_SIZE",
                                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                                             "PMIX_NAMESPACE",
                                             "PMIX_SERVER_URI2",
                                             "PMI_RANK",
                                             "PMI_SIZE",
                                             "MPI_LOCALNRANKS",
                                             "PMI_PORT",
                                             "SLURM_PROCID",
                                             "SLURM_NTASKS",
                                             "SLURM_JOB_ID",
                                             "SLURM_STEP_ID",
                                             "SLURM_RESTART_COUNT"};

std::map<std::string_view, std::string> variables;

const char* lookup(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

}  // namespace

// Each line sets a variable: its first byte picks which, the rest is the value. A place is sound
// and the same every time, and its id is one that a communicator takes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  variables.clear();
  std::string rest = fuzz::textOf(bytes, size);
  while (!rest.empty()) {
    const std::string line = rest.substr(0, rest.find('\n'));
    rest.erase(0, line.size() + 1);
    if (line.empty()) continue;
    variables[kNames[static_cast<uint8_t>(line[0]) % kNames.size()]] = line.substr(1);
  }
  const auto place = fuzz::accepted([] { return jobPlace(lookup); });
  if (!place) return 0;
  fuzz::must(place->rank >= 0 && place->rank < place->nRanks);
  fuzz::must(jobPlace(lookup).token == place->token);
  checkUniqueId(idOf(*place, 0));
  return 0;
}
