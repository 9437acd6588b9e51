#include "tests/nccl_double/programs/ranks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace autoccl::testing {
namespace {

/// The first of the variables that is set.
int number(std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return fallback;
}

void enter(int rank, const Crew& crew, const std::string& idFile) {
  const int nRanks = crew.nRanks, hosts = crew.hosts;
  const int perHost = (nRanks + hosts - 1) / hosts;
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(nRanks).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank % perHost).c_str(), 1);
  if (hosts > 1) setenv("NCCL_HOSTID", ("host" + std::to_string(rank / perHost)).c_str(), 1);
  setenv("NCCL_PROGRAM_ID", idFile.c_str(), 1);
  for (const Crew::Variable& v : crew.variables) {
    if (v.rank != rank) continue;
    if (v.value.empty())
      unsetenv(v.name.c_str());
    else
      setenv(v.name.c_str(), v.value.c_str(), 1);
  }
}

}  // namespace

bool placeFromEnvironment(Place& place) {
  place.rank = number({"RANK", "AUTOCCL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}, -1);
  place.nRanks = number({"WORLD_SIZE", "AUTOCCL_NRANKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1);
  place.localRank = number({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}, place.rank);
  const char* file = std::getenv("NCCL_PROGRAM_ID");
  place.idFile = file != nullptr ? file : "nccl-program-id";
  return place.rank >= 0;
}

int startRanks(const Crew& crew, char** argv) {
  char folder[] = "/tmp/nccl-program-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::string idFile = std::string(folder) + "/id";
  std::vector<pid_t> processes;
  for (int r = 0; r < crew.nRanks; ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      enter(r, crew, idFile);
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    processes.push_back(pid);
  }
  int worst = 0;
  for (int r = 0; r < crew.nRanks; ++r) {
    int status = 0;
    waitpid(processes[static_cast<size_t>(r)], &status, 0);
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (r != crew.expected) worst = std::max(worst, code);
  }
  for (int n = 0; n < 16; ++n) unlink((idFile + std::to_string(n)).c_str());
  rmdir(folder);
  return worst;
}

ncclUniqueId sharedId(const Place& place, int n, ncclResult_t (*make)(ncclUniqueId*)) {
  const std::string name = place.idFile + std::to_string(n);
  ncclUniqueId id{};
  if (place.rank == 0) {
    if (make(&id) != ncclSuccess) std::_Exit(1);
    std::FILE* file = std::fopen((name + ".part").c_str(), "w");
    if (file == nullptr) std::_Exit(1);
    std::fwrite(&id, sizeof id, 1, file);
    std::fclose(file);
    std::rename((name + ".part").c_str(), name.c_str());
    return id;
  }
  std::FILE* file = nullptr;
  while ((file = std::fopen(name.c_str(), "r")) == nullptr) usleep(2000);
  if (std::fread(&id, sizeof id, 1, file) != 1) std::_Exit(1);
  std::fclose(file);
  return id;
}

}  // namespace autoccl::testing
