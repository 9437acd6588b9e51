#!/usr/bin/env bash
# Runs the measurements behind the tables of docs/performance.md and writes them as JSON and Markdown.
#
#   bench/run_tables.sh [-b FOLDER_OF_PROGRAMS] [-o FOLDER_OF_RESULTS] [-q] NAME...
#
# NAME is peers, tuned, interference, transfer, many_cores or all. -q measures fewer sizes in fewer
# rounds, to see that everything works. Needs bash, the programs (default build/release/bin) and, for the
# Markdown, python3; without python3 the JSON is written all the same.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../build/release/bin
out=results
quick=
while getopts b:o:qh option; do
  case $option in
    b) bin=$OPTARG ;;
    o) out=$OPTARG ;;
    q) quick=yes ;;
    h) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { echo "usage: $0 [-b BIN] [-o OUT] [-q] peers|tuned|interference|transfer|many_cores|all..." >&2; exit 2; }
[ -x "$bin/autoccl" ] || { echo "$bin/autoccl is not there: build it (./run build) or name its folder with -b" >&2; exit 2; }
mkdir -p "$out"

main=allreduce,allgather,reducescatter,broadcast,alltoall
if [ $quick ]; then
  all_sizes=1K,256K few_sizes=64K ranks="2" pace=(--rounds 3 --round-ms 5 --tune-seconds 3)
else
  all_sizes=1K,16K,256K,1M,16M,64M,128M few_sizes=16K,256K,1M,16M ranks="2 4" pace=(--rounds 9)
fi

# measure FILE ARGUMENTS...: one run of autoccl bench; its table goes into FILE.txt, its rows into FILE.json
measure() {
  local file=$1
  shift
  echo "autoccl bench $*" | tee "$out/$file.txt"
  "$bin/autoccl" bench "$@" "${pace[@]}" --json "$out/$file.json" | tee -a "$out/$file.txt"
}

# markdown NAME FILES...: the table of docs/performance.md
markdown() {
  local name=$1
  shift
  command -v python3 >/dev/null || { echo "no python3: $out/$name.md is not written"; return 0; }
  python3 "$here/tables.py" "$name" "$@" >"$out/$name.md"
  echo "wrote $out/$name.md"
}

peers() {
  local files=()
  for n in $ranks; do
    measure "peers-n$n" -n "$n" --collective $main --sizes $all_sizes --check \
      --vs openmpi,openmpi-ucx,openmpi-segring,mpich,gloo
    files+=("$out/peers-n$n.json")
  done
  markdown peers "${files[@]}"
}

tuned() {
  local files=()
  for n in $ranks; do
    for load in none heavy; do
      measure "tuned-n$n-$load" -n "$n" --collective $main --sizes $few_sizes --compute $load \
        --mode default,tuned,exhaustive --buffers registered
      files+=("$out/tuned-n$n-$load.json")
    done
  done
  markdown tuned "${files[@]}"
}

interference() {
  local files=("$out/interference-none.json")
  measure interference-none --collective allreduce,allgather --sizes $few_sizes --mode default,tuned \
    --buffers registered
  for load in light heavy; do
    measure "interference-$load" --collective allreduce,allgather --sizes $few_sizes --compute $load \
      --mode default,tuned --buffers registered --pin-from "$out/interference-none.json"
    files+=("$out/interference-$load.json")
  done
  markdown interference "${files[@]}"
}

# The best config of each task, then all of them on every task.
transfer() {
  local files=() pins=() config
  for n in $ranks; do
    measure "transfer-best-n$n" -n "$n" --collective allreduce,allgather,alltoall --sizes $few_sizes \
      --mode default,exhaustive --buffers registered --no-limits
  done
  while read -r config; do
    pins+=(--pin "$config")
  done < <(python3 "$here/tables.py" best_configs "$out"/transfer-best-n*.json)
  for n in $ranks; do
    measure "transfer-n$n" -n "$n" --collective allreduce,allgather,alltoall --sizes $few_sizes \
      --buffers registered --no-limits "${pins[@]}"
    files+=("$out/transfer-n$n.json")
  done
  markdown transfer "${files[@]}" "$out"/transfer-best-n*.json
}

# For a host with 16 cores or more. AUTOCCL_TABLE_RANKS and AUTOCCL_TABLE_SIZES change what is measured.
many_cores() {
  local files=()
  for n in ${AUTOCCL_TABLE_RANKS:-2 4 8 16}; do
    measure "many_cores-n$n" -n "$n" --collective "${AUTOCCL_TABLE_COLLECTIVES:-allreduce}" \
      --sizes "${AUTOCCL_TABLE_SIZES:-64K,1M,16M}" --mode default,tuned,exhaustive --buffers registered \
      --svg "$out/many_cores-n$n.svg"
    files+=("$out/many_cores-n$n.json")
  done
  markdown many_cores "${files[@]}"
}

for name in "$@"; do
  case $name in
    peers | tuned | interference | transfer | many_cores) $name ;;
    all) peers; tuned; interference; transfer ;;
    *) echo "unknown table '$name'; known: peers, tuned, interference, transfer, many_cores, all" >&2; exit 2 ;;
  esac
done
