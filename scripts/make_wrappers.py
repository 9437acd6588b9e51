#!/usr/bin/env python3
"""Makes the interposer's wrappers of src/edge/preload/symbols.txt.

usage: make_wrappers.py SYMBOLS OUT_DIR    writes OUT_DIR/edge/preload/symbol_list.h and wrappers.cc
Exit 0 when written, 2 for a list that cannot be read, with file:line: reason.
"""
import pathlib
import re
import sys

KINDS = {"init", "collective", "p2p", "group", "destroy", "query", "register"}
COLLECTIVES = {"AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllToAll", "Gather", "Scatter"}
ARGUMENT = re.compile(r"^((?:const )?[A-Za-z_]+(?:\*+ | ))(\w+)$")
# Fields of the facts in the order of their declaration (hooks.h): field, argument, how it is taken.
FACTS = {
    "init": ("InitFacts", [("newComm", "Comm*"), ("parent", "Comm"), ("ids", None), ("comms", "Comm*"),
                           ("nRanks", "int"), ("rank", "int"), ("nDevices", "int"), ("colour", "int"),
                           ("config", "void*")]),
    "collective": ("CallFacts", [("count", "size_t"), ("dtype", "int"), ("op", "int"), ("comm", "Comm"),
                                 ("stream", "Stream"), ("send", "const void*"), ("recv", "void*"),
                                 ("root", "int")]),
    "p2p": ("CallFacts", [("comm", "Comm"), ("stream", "Stream")]),
    "destroy": ("Comm", None),
    "query": ("QueryFacts", [("comm", "Comm"), ("asyncError", "int*")]),
}


class Bad(Exception):
    """A line that cannot be read."""


def arguments(text: str) -> list[tuple[str, str]]:
    found = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = ARGUMENT.match(part)
        if not match:
            raise Bad(f"argument '{part}' is not 'TYPE NAME'")
        found.append((match.group(1).strip(), match.group(2)))
    return found


def read(path: pathlib.Path) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    symbols, names = [], set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            fields = [f.strip() for f in line.split("|")]
            if len(fields) != 3:
                raise Bad("want 'name | kind | arguments'")
            name, kind, collective = fields[0], *(fields[1].split() + [""])[:2]
            if not re.fullmatch(r"nccl[A-Z]\w+", name) or name in names:
                raise Bad(f"'{name}' is no name of a call, or stands twice")
            if kind not in KINDS or (kind == "collective") != (collective in COLLECTIVES):
                raise Bad(f"kind '{fields[1]}' is unknown; allowed: {', '.join(sorted(KINDS))}")
            names.add(name)
            symbols.append((name, kind, collective, arguments(fields[2])))
        except Bad as bad:
            raise SystemExit(fail(f"{path}:{number}: {bad}")) from bad
    return symbols


def fail(text: str) -> int:
    print(text, file=sys.stderr)
    return 2


def facts(kind: str, collective: str, args: list[tuple[str, str]]) -> str:
    """The second argument of the hook, as an initialiser; empty for kinds without facts."""
    if kind not in FACTS:
        return ""
    type_name, fields = FACTS[kind]
    if fields is None:
        return f", {args[0][1]}"
    by_name = {name: type_ for type_, name in args}
    inits = [f".collective = Collective::k{collective}"] if collective else []
    for field, want in fields:
        if field == "ids":
            by_value = by_name.get("id") == "UniqueId"
            name = "&id" if by_value else next((n for n in ("id", "ids") if n in by_name), None)
            if name:
                inits.append(f".ids = {name}")
        elif by_name.get("comm") == "Comm*" and field == "newComm":
            inits.append(".newComm = comm")
        elif by_name.get("comm") == "Comm" and field == "parent":
            inits.append(".parent = comm")
        elif kind == "collective" and field in ("send", "recv"):
            # ncclBcast has one buffer, which is both.
            name = next((n for n in (f"{field}Buffer", "buffer") if n in by_name), None)
            if name:
                inits.append(f".{field} = {name}")
        elif by_name.get(field) == want:
            inits.append(f".{field} = {field}")
    if collective and "config" in by_name:
        inits.append(".configured = true")
    return f", {type_name}{{{', '.join(inits)}}}"


def wrapper(name: str, kind: str, collective: str, args: list[tuple[str, str]]) -> str:
    declared = ", ".join(f"{t} {n}" for t, n in args)
    types = ", ".join(t for t, _ in args)
    to = ", Comm to" if kind == "collective" else ""  # a collective may go to another communicator
    passed = ", ".join("to" if to and n == "comm" else n for _, n in args)
    hook = f"{kind}Call(Symbol::k{name[4:]}, __builtin_return_address(0){facts(kind, collective, args)}"
    return (f"AUTOCCL_WRAPPER int {name}({declared}) {{\n"
            f"  return {hook}, [&](void* real{to}) {{ return reinterpret_cast<int (*)({types})>(real)({passed}); }});\n"
            "}\n")


def symbol_list(symbols: list) -> str:
    names = [s[0] for s in symbols]
    return ("// Made by scripts/make_wrappers.py of src/edge/preload/symbols.txt.\n#pragma once\n\n"
            "#include <cstddef>\n\nnamespace autoccl::preload {\n\nenum class Symbol : unsigned char {\n"
            + "".join(f"  k{n[4:]},\n" for n in names)
            + f"}};\ninline constexpr size_t kSymbols = {len(names)};\n"
            "inline constexpr const char* kSymbolNames[kSymbols] = {\n"
            + "".join(f'    "{n}",\n' for n in names) + "};\n\n}  // namespace autoccl::preload\n")


def wrappers(symbols: list) -> str:
    return ("// Made by scripts/make_wrappers.py of src/edge/preload/symbols.txt.\n"
            '#include "edge/preload/hooks.h"\n\n'
            '#define AUTOCCL_WRAPPER extern "C" __attribute__((visibility("default")))\n\n'
            "using namespace autoccl::preload;\nusing autoccl::Collective;\n\n"
            + "\n".join(wrapper(*s) for s in symbols))


def main() -> int:
    if len(sys.argv) != 3:
        return fail(__doc__)
    symbols = read(pathlib.Path(sys.argv[1]))
    out = pathlib.Path(sys.argv[2]) / "edge" / "preload"
    out.mkdir(parents=True, exist_ok=True)
    (out / "symbol_list.h").write_text(symbol_list(symbols), encoding="utf-8")
    (out / "wrappers.cc").write_text(wrappers(symbols), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
