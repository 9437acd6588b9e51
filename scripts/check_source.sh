#!/usr/bin/env bash
# Checks of the source that need no build: format, length of files, headers that compile alone.
# With --tidy [PRESET] also clang-tidy, against the compile commands of build/PRESET (release).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sources() { git ls-files -- '*.h' '*.cc'; }

fail=0
differ=$(sources | xargs clang-format --dry-run 2>&1 | grep 'warning:' || true)
if [ -n "$differ" ]; then
  head -20 <<<"$differ"
  echo "format: $(wc -l <<<"$differ") places differ; run: git ls-files '*.h' '*.cc' | xargs clang-format -i"
  fail=1
fi
long=$(sources | xargs wc -l | awk '$1 > 500 && $2 != "total" {print "  " $2 ": " $1 " lines"}')
if [ -n "$long" ]; then
  printf 'files over 500 lines:\n%s\n' "$long"
  fail=1
fi
made=$(mktemp -d)  # headers that the build makes
trap 'rm -rf "$made"' EXIT
export made
scripts/make_wrappers.py src/edge/preload/symbols.txt "$made"
alone() { # header
  case "$1" in
    include/*) g++ -x c -std=c11 -fsyntax-only -Iinclude "$1" ;;
  esac
  echo "#include \"$1\"" | g++ -x c++ -std=c++20 -fsyntax-only -Wall -Wextra -Iinclude -Isrc -I. -I"$made" -isystem /usr/include/eigen3 - ||
    { echo "header does not compile alone: $1"; return 1; }
}
export -f alone
git ls-files -- '*.h' | xargs -P "$(nproc)" -I{} bash -c 'alone {}' || fail=1
if [ "${1:-}" = "--tidy" ]; then
  git ls-files -- 'src/*.cc' | grep -v _test.cc |
    xargs -P "$(nproc)" -n 4 clang-tidy -p "build/${2:-release}" --quiet 2>/dev/null || { echo "clang-tidy: findings above"; fail=1; }
fi
[ $fail -eq 0 ] && echo "source: format, length and $(git ls-files -- '*.h' | wc -l) lone headers in order"
exit $fail
