#!/usr/bin/env python3
"""Rebuilds the search's table and plot in docs/ from what `autoccl-search-bench --save` wrote.

usage: table.py [--bench PROGRAM] [--date YYYY-MM-DD] PIECE...

The pieces may come from several machines and hold different seeds. Writes the block of
docs/search.md between its two marks, docs/images/search.svg and bench/results/search.json. Exit 0
when all three were written, 2 with one line on stderr for a bad call or piece.
"""
import argparse
import datetime
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BEGIN = "<!-- bench/search/table.py writes from here -->"
END = "<!-- to here -->"


class BadInput(Exception):
    """A piece or a document that is none; the text names it."""


def seeds_of(text, name):
    """The seeds of one piece, as --save writes it: kind, policy, noise, seed, ..."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("autoccl-searches"):
        raise BadInput(f"{name}: not a file of searches")
    try:
        return {int(line.split()[3]) for line in lines[1:]}
    except (IndexError, ValueError) as error:
        raise BadInput(f"{name}: not a file of searches: {error!r}") from error


def spans(seeds):
    """"2001 to 3000, 5 to 5" of a set of seeds."""
    runs = []
    for seed in sorted(seeds):
        if runs and runs[-1][1] + 1 == seed:
            runs[-1][1] = seed
        else:
            runs.append([seed, seed])
    return ", ".join(f"{first} to {last}" for first, last in runs)


def replaced(document, table, seeds, date):
    if BEGIN not in document or END not in document:
        raise BadInput(f"docs/search.md: '{BEGIN}' or '{END}' is missing")
    before, rest = document.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return (f"{before}{BEGIN}\nSeeds {spans(seeds)}, {date}.\n\n```\n{table.rstrip()}\n```\n{END}"
            f"{after}")


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].removeprefix("usage: "))
    parser.add_argument("--bench", default=str(ROOT / "build/release/bin/autoccl-search-bench"))
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("pieces", nargs="+")
    options = parser.parse_args(arguments)
    try:
        seeds = set()
        for piece in options.pieces:
            seeds |= seeds_of(pathlib.Path(piece).read_text(encoding="utf-8"), piece)
        done = subprocess.run(
            [options.bench, "--load", ",".join(options.pieces),
             "--json", str(ROOT / "bench/results/search.json"),
             "--svg", str(ROOT / "docs/images/search.svg")],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BadInput(done.stderr.strip())
        page = ROOT / "docs/search.md"
        page.write_text(replaced(page.read_text(encoding="utf-8"), done.stdout, seeds, options.date),
                        encoding="utf-8")
    except (BadInput, OSError) as error:
        print(f"table.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
