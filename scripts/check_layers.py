#!/usr/bin/env python3
"""Holds every #include between rooms against the direction of the rooms (docs/architecture.md).

Exit 0 when all includes are allowed, 1 with one line per include that is not, 2 on a bad call.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOW = {"base", "model"}
ALLOWED = {
    "base": set(),
    "model": {"base"},
    "tune": LOW,
    "plan": LOW,
    "transport": LOW,
    "store": LOW,
    "sim": LOW,
    "topo": LOW,
    "agree": LOW | {"tune", "store", "transport"},
    "engine": LOW | {"plan", "transport"},
    "direct": LOW | {"transport"},
    "report": LOW | {"store", "tune"},
    "bench": LOW | {"transport"},
    "edge/session": LOW | {"tune", "store", "agree"},
    "edge/cpu": LOW | {"tune", "plan", "transport", "store", "agree", "engine", "edge/session"},
    "edge/nccl": LOW | {"tune", "store", "agree", "edge/session"},
    "edge/preload": LOW | {"tune", "store", "agree", "direct", "transport", "edge/session", "edge/nccl"},
    "cli": LOW | {"tune", "plan", "transport", "store", "agree", "engine", "report", "bench", "sim", "topo"},
}
# Only the command line may use libraries beyond libc, libstdc++ and header-only ones.
HEAVY = re.compile(r'#include\s*[<"](CLI/|fmt/|spdlog/|hwloc)')
INCLUDE = re.compile(r'^\s*#include\s*"((?:edge/)?[a-z_]+)/[^"]+"', re.M)


def faults(path: pathlib.Path) -> list[str]:
    parts = path.relative_to(ROOT / "src").parts
    room = "/".join(parts[:2]) if parts[0] == "edge" else parts[0]
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT)
    if room not in ALLOWED:
        return [f"{name}: room '{room}' is unknown; add it to scripts/check_layers.py"]
    found = []
    for match in INCLUDE.finditer(text):
        other = match.group(1)
        if other in ALLOWED and other != room and other not in ALLOWED[room]:
            line = text.count("\n", 0, match.start(1)) + 1
            found.append(f"{name}:{line}: {room} must not include {other}")
    if room != "cli" and HEAVY.search(text):
        found.append(f"{name}: only src/cli may use CLI11, fmt, spdlog and hwloc")
    return found


def main() -> int:
    if len(sys.argv) > 1:
        print("usage: scripts/check_layers.py", file=sys.stderr)
        return 2
    files = sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in {".h", ".cc"})
    bad = [fault for path in files for fault in faults(path)]
    print("\n".join(bad) if bad else f"layers: {len(files)} files in order")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
