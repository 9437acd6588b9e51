#include "topo/launch.h"

#include <algorithm>
#include <map>

namespace autoccl::topo {
namespace {

/// Part `i` of `parts` of a set, in the order of the CPUs; the whole set where it has fewer.
CpuSet partOf(const CpuSet& all, size_t i, size_t parts) {
  const size_t count = all.count();
  if (count < parts) return all;
  CpuSet part;
  size_t at = 0;
  for (size_t cpu = 0; cpu < CpuSet::kMost; ++cpu) {
    if (!all.has(cpu)) continue;
    if (at * parts / count == i) part.add(cpu);
    ++at;
  }
  return part;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string table(const std::vector<Seat>& seats) {
  std::string gpus, numas, cpus;
  for (const Seat& s : seats) {
    gpus += " " + std::to_string(s.gpu);
    numas += " " + std::to_string(s.numaNode);
    cpus += " " + quoted(s.cpus.list());
  }
  return "# Local rank i has GPU gpus[i], on NUMA node numas[i] (-1: unknown) with CPUs cpus[i].\n"
         "gpus=(" +
         gpus.substr(1) + ")\nnumas=(" + numas.substr(1) + ")\ncpus=(" + cpus.substr(1) + ")\n";
}

// What a rank does. Launchers say the local rank in variables of their own.
constexpr const char* kBind = R"sh(
# "0-2,5" as "0 1 2 5".
cpu_numbers() {
  local part
  for part in ${1//,/ }; do seq -s ' ' "${part%-*}" "${part#*-}"; done
}

# Those of list $1 that are in list $2 too, as a list.
common() {
  local -A allowed=()
  local cpu out=""
  for cpu in $(cpu_numbers "$2"); do allowed[$cpu]=1; done
  for cpu in $(cpu_numbers "$1"); do [ -z "${allowed[$cpu]:-}" ] || out+=",$cpu"; done
  echo "${out#,}"
}

bound_program() {
  local rank=${LOCAL_RANK:-${SLURM_LOCALID:-${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-}}}}
  if [ -z "$rank" ]; then
    echo "$0: no launcher told the local rank (LOCAL_RANK, SLURM_LOCALID, OMPI_COMM_WORLD_LOCAL_RANK)" >&2
    exit 2
  fi
  if [ "$rank" -ge ${#gpus[@]} ]; then
    echo "$0: local rank $rank, but there are ${#gpus[@]} GPUs" >&2
    exit 2
  fi
  export LOCAL_RANK=$rank CUDA_DEVICE_ORDER=PCI_BUS_ID
  [ "$one_visible" = 0 ] || export CUDA_VISIBLE_DEVICES=${gpus[$rank]}
  local may mine bind=()
  may=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
  mine=$(common "${cpus[$rank]}" "$may")
  if [ -z "$mine" ]; then
    [ -z "${cpus[$rank]}" ] ||
      echo "$0: rank $rank: CPUs ${cpus[$rank]} are not among those allowed ($may); not bound" >&2
  elif [ "${numas[$rank]}" -ge 0 ] && command -v numactl >/dev/null &&
    numactl -C "$mine" -m "${numas[$rank]}" true 2>/dev/null; then
    bind=(numactl -C "$mine" -m "${numas[$rank]}")
  else
    bind=(taskset -c "$mine")  # without numactl memory is where it is first touched: there too
  fi
  exec "${bind[@]}" "$@"
}
)sh";

constexpr const char* kStartLocal = R"sh(
start() {
  local rank pid status=0 pids=()
  export WORLD_SIZE=${#gpus[@]} LOCAL_WORLD_SIZE=${#gpus[@]} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1} MASTER_PORT=${MASTER_PORT:-29500}
  for rank in "${!gpus[@]}"; do
    RANK=$rank LOCAL_RANK=$rank "$self" "$@" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    local code=0
    wait "$pid" || code=$?
    [ "$status" -ne 0 ] || status=$code
  done
  exit "$status"
}
)sh";

std::string startText(const Job& job, Launcher launcher) {
  const std::string gpus = std::to_string(job.host.gpus.size()),
                    hosts = std::to_string(job.hosts());
  switch (launcher) {
    case Launcher::kLocal:
      return kStartLocal;
    case Launcher::kTorchrun:
      return "\n# On every host, with NODE_RANK and MASTER_ADDR set (the rank file has the "
             "lines).\n"
             "start() {\n  exec torchrun --nnodes=" +
             hosts + " --nproc-per-node=" + gpus +
             " --node-rank=\"${NODE_RANK:-0}\" --master-addr=\"${MASTER_ADDR:-127.0.0.1}\" "
             "--master-port=\"${MASTER_PORT:-29500}\" --no-python \"$self\" \"$@\"\n}\n";
    case Launcher::kSlurm:
      return "\n# Inside an allocation. Slurm binds nothing itself: the wrapper does.\nstart() {\n"
             "  exec srun --nodes=" +
             hosts + " --ntasks-per-node=" + gpus +
             " --cpu-bind=none --mem-bind=none \"$self\" \"$@\"\n}\n";
    case Launcher::kOpenMpi:
      break;
  }
  return "\n# With RANKFILE set to the rank file, Open MPI places the ranks by it.\nstart() {\n"
         "  local place=(--map-by ppr:" +
         gpus +
         ":node --bind-to none)\n"
         "  [ -z \"${RANKFILE:-}\" ] || place=(--rankfile \"$RANKFILE\")\n"
         "  exec mpirun -np " +
         std::to_string(job.ranks()) + " \"${place[@]}\" \"$self\" \"$@\"\n}\n";
}

}  // namespace

std::vector<Seat> seatsOf(const Host& host) {
  std::map<int, size_t> sharing, at;
  for (const Gpu& g : host.gpus) ++sharing[g.numa];
  std::vector<const Gpu*> order;
  order.reserve(host.gpus.size());
  for (const Gpu& g : host.gpus) order.push_back(&g);
  std::ranges::stable_sort(order, {},
                           [](const Gpu* g) { return g->index < 0 ? INT32_MAX : g->index; });
  std::vector<Seat> seats;
  for (const Gpu* g : order) {
    Seat seat;
    seat.gpu = g->index >= 0 ? g->index : static_cast<int>(seats.size());
    if (g->numa >= 0) {
      const NumaNode& node = host.numa[static_cast<size_t>(g->numa)];
      seat.numaNode = node.id;
      seat.cpus = partOf(node.cpus, at[g->numa]++, sharing[g->numa]);
    }
    seats.push_back(seat);
  }
  return seats;
}

std::string launchScript(const Job& job, Launcher launcher, bool oneVisible) {
  return "#!/usr/bin/env bash\n"
         "# Made by autoccl topo plan from the map of the machine: one process per GPU, bound to "
         "the CPUs\n"
         "# and the memory next to it. Start: $0 --start PROGRAM ARG...   As a wrapper: $0 PROGRAM "
         "ARG...\n"
         "set -eu\nself=$(realpath \"$0\")\n\n" +
         table(seatsOf(job.host)) + "one_visible=" + (oneVisible ? "1" : "0") + "\n" + kBind +
         startText(job, launcher) +
         "\ncase \"${1:-}\" in\n"
         "  --start) shift; [ $# -gt 0 ] || { echo \"$0: a program is needed\" >&2; exit 2; }; "
         "start \"$@\" ;;\n"
         "  '') echo \"usage: $0 [--start] PROGRAM ARG...\" >&2; exit 2 ;;\n"
         "  *) bound_program \"$@\" ;;\n"
         "esac\n";
}

std::string rankFile(const Job& job, Launcher launcher) {
  const std::vector<Seat> seats = seatsOf(job.host);
  std::string out;
  int rank = 0;
  for (const std::string& host : job.fabric.hostNames) {
    if (launcher == Launcher::kTorchrun) {
      out += "NODE_RANK=" + std::to_string(rank++) +
             " MASTER_ADDR=" + job.fabric.hostNames.front() + "  # on " + host + "\n";
      continue;
    }
    for (const Seat& seat : seats) {
      if (launcher == Launcher::kSlurm) out += host + "\n";
      if (launcher == Launcher::kOpenMpi)
        out += "rank " + std::to_string(rank) + "=" + host +
               " slot=" + (seat.cpus.empty() ? "*" : seat.cpus.list()) + "\n";
      ++rank;
    }
  }
  return out;
}

}  // namespace autoccl::topo
