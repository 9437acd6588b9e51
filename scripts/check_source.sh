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
  tidy() { xargs -P "$(nproc)" -n 4 clang-tidy --quiet "$@" 2>/dev/null; } # files on stdin
  git ls-files -- '*.cc' ':!fuzz' | tidy -p "build/${2:-release}" || fail=1
  # Their commands are of another preset (clang-tidy says that it finds none); they need only this.
  options=(--extra-arg=-std=c++20 --extra-arg=-Iinclude --extra-arg=-Isrc --extra-arg=-I.)
  git ls-files -- 'fuzz/*.cc' | tidy "${options[@]}" || fail=1
  [ $fail -eq 0 ] || echo "clang-tidy: findings above"
fi
[ $fail -eq 0 ] && echo "source: format, length and $(git ls-files -- '*.h' | wc -l) lone headers in order"
exit $fail
