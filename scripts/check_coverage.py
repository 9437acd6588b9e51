#!/usr/bin/env python3
"""Holds docs/coverage.md to what exists: a row that is done names a test, command, document or file that is there.

usage: scripts/check_coverage.py [--root FOLDER] [--build FOLDER]

Without --build a test is known when a source declares it; with it, when ctest would run it in that
build folder. Exit 0 when every row holds, 1 with one line per fault, 2 on a bad call.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROWS = {"P": 38, "G": 32, "H": 28, "C": 44, "O": 6}  # tables of the page, and the rows each must have
PARTS = {"NCCL edge", "direct engine", "topology", "simulator", "overlap", "several hosts", "search", "measurements"}
ROW = re.compile(r"^\| *([A-Z])(\d+) *\|")
STATE = re.compile(r"^(done|not applicable|(?:partly|planned) \(([^)]+)\))$")
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)]+)\)")
TEST = re.compile(r"^[A-Z]\w*\.(?:[A-Z]\w*|\*)$")
DECLARED = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)
EXECUTABLE = re.compile(r"(?:add_executable|autoccl_test)\(\s*([\w-]+)")


class Project:
    """What the project has, for a row to name."""

    def __init__(self, root: pathlib.Path, build: pathlib.Path | None):
        self.root = root
        self.tests = tests_of_build(build) if build else tests_of_sources(root)
        self.programs = set()
        for file in [root / "CMakeLists.txt", *(f for d in ("src", "bench", "examples", "tests")
                                                for f in (root / d).rglob("CMakeLists.txt"))]:
            if file.exists():
                self.programs |= set(EXECUTABLE.findall(file.read_text(encoding="utf-8")))

    def text(self, name: str) -> str:
        path = self.root / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def test_fault(self, name: str) -> str | None:
        if name.endswith(".*"):
            known = any(t.startswith(name[:-1]) for t in self.tests)
        else:
            known = name in self.tests
        return None if known else f"no test is called {name}"

    def command_fault(self, command: str) -> str | None:
        """`autoccl WORD... --option...`: the command's section of docs/cli.md has each option."""
        words = command.split()
        page = self.text("docs/cli.md")
        sections = {title: body for title, body in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.M | re.S)}
        named = [" ".join(words[:n]) for n in range(len(words), 1, -1)]
        section = next((sections[n] for n in named if n in sections), None)
        if section is None:
            return f"docs/cli.md has no command `{' '.join(words[:2])}`"
        for option in (w for w in words if w.startswith("--")):
            if not re.search(re.escape(option) + r"(?![\w-])", section):
                return f"docs/cli.md gives `{' '.join(words[:2])}` no option {option}"
        return None

    def code_fault(self, code: str) -> str | None:
        """One word in backticks of the last column: what kind it is, and whether it exists."""
        first = code.split()[0]
        if TEST.match(code):
            return self.test_fault(code)
        if first == "ctest":
            return self.test_fault(code.removeprefix("ctest "))
        if first == "autoccl":
            return self.command_fault(code)
        if first.startswith("AUTOCCL_"):
            known = f"`{first}`" in self.text("docs/settings.md")
            return None if known else f"docs/settings.md has no {first}"
        if re.match(r"accl[A-Z]", first):
            known = re.search(rf"\b{re.escape(first)}\b", self.text("include/autoccl/autoccl.h"))
            return None if known else f"the C interface has no {first}"
        if first in self.programs:
            return None
        if (self.root / first).exists():
            return None
        return f"`{code}` is no test, command, variable, function, program or file of the project"

    def link_fault(self, target: str) -> str | None:
        if target.startswith(("http://", "https://")):
            return None
        name, _, anchor = target.partition("#")
        path = self.root / "docs" / name if name else self.root / "docs" / "coverage.md"
        if not path.exists():
            return f"the link {target} leads to no file"
        if anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
            return f"the link {target} leads to no heading"
        return None


def tests_of_sources(root: pathlib.Path) -> set[str]:
    found = set()
    for folder in ("src", "tests", "bench", "examples"):
        for file in (root / folder).rglob("*_test.cc"):
            found |= {f"{s}.{c}" for s, c in DECLARED.findall(file.read_text(encoding="utf-8"))}
    for file in [root / "tests" / "CMakeLists.txt", root / "bench" / "CMakeLists.txt"]:
        if file.exists():
            found |= set(re.findall(r"add_test\(NAME (\w+)", file.read_text(encoding="utf-8")))
    return found


def tests_of_build(build: pathlib.Path) -> set[str]:
    """Names that ctest knows, those of parametrised tests without prefix and parameter."""
    listing = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"],
                             check=True, capture_output=True, text=True).stdout
    names = [t["name"] for t in json.loads(listing)["tests"]]
    if missing := [n.removesuffix("_NOT_BUILT") for n in names if n.endswith("_NOT_BUILT")]:
        sys.exit(f"coverage: not built: {', '.join(missing)}; build everything first")
    return {re.sub(r"^\w+/(?=\w+\.)|/\S+$", "", n) for n in names}


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(plain.replace(" ", "-"))
    return found


def cells(line: str) -> list[str]:
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def row_faults(project: Project, row: list[str]) -> list[str]:
    if len(row) != 4:
        return [f"{len(row)} cells, not 4"]
    state, shown = row[2], row[3]
    match = STATE.match(state)
    if not match:
        return [f"state '{state}'; allowed: done, partly (PART), planned (PART), not applicable"]
    if match.group(2) and match.group(2) not in PARTS:
        return [f"part '{match.group(2)}'; allowed: {', '.join(sorted(PARTS))}"]
    codes, links = CODE.findall(shown), LINK.findall(shown)
    faults = [project.code_fault(c) for c in codes] + [project.link_fault(t) for t in links]
    if state.startswith(("done", "partly")) and not codes and not links:
        faults.append(f"is {state.split()[0]} and names nothing that shows it")
    if state == "not applicable" and not shown:
        faults.append("gives no reason")
    return [f for f in faults if f]


def check(project: Project) -> tuple[list[str], dict[str, int]]:
    page = project.text("docs/coverage.md")
    faults, states, seen = [], {}, {letter: [] for letter in ROWS}
    for number, line in enumerate(page.splitlines(), 1):
        match = ROW.match(line)
        if not match:
            continue
        row = cells(line)
        seen.setdefault(match.group(1), []).append(int(match.group(2)))
        faults += [f"docs/coverage.md:{number}: {row[0]}: {f}" for f in row_faults(project, row)]
        if len(row) == 4:
            state = row[2].split(" (")[0]
            states[state] = states.get(state, 0) + 1
    for letter, numbers in seen.items():
        if numbers != list(range(1, ROWS.get(letter, 0) + 1)):
            faults.append(f"docs/coverage.md: rows {letter} are not {letter}1 to {letter}{ROWS.get(letter, 0)} in order")
    return faults, states


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=pathlib.Path)
    options = parser.parse_args()
    faults, states = check(Project(options.root, options.build))
    if faults:
        print("\n".join(faults))
        return 1
    print("coverage: " + ", ".join(f"{n} {state}" for state, n in sorted(states.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
