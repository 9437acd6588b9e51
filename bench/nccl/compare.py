#!/usr/bin/env python3
"""Runs a benchmark without and with AutoCCL in turn and says what the program feels of it.

usage: bench/nccl/compare.py --library LIB [--ranks 2] [--rounds 2] [--out DIR] sweep [options of sweep.py]
       bench/nccl/compare.py --library LIB [--ranks 2] [--rounds 2] [--out DIR] ddp [options of ddp.py]

LIB is libnccl-tuner-autoccl.so. The runs alternate: base, tuned, base, tuned, …, base, each a fresh torchrun, since a
process is tuned or is not. For `sweep` a line per collective and size gives stream time a call in microseconds, back to
back, without and with AutoCCL (medians over the runs), their ratio, and how far the runs without it are apart (A/A); for
`ddp` the step. The record of the last tuned run is DIR/record.json: `autoccl explain` and `autoccl report` read it.
Exit 3 where a row is slower than 1 + max(1 %, A/A), or results differ.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", default="compare")
    parser.add_argument("what", choices=["sweep", "ddp"])
    return parser.parse_known_args()


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def run(options, words, tuned, number):
    out = pathlib.Path(options.out)
    file = out / f"{options.what}-{number}-{'tuned' if tuned else 'base'}.json"
    env = dict(os.environ)
    if tuned:
        env.update(LD_PRELOAD=str(pathlib.Path(options.library).resolve()), AUTOCCL_RESULT=str(out / "record.json"))
        env.setdefault("AUTOCCL_BUDGET", "100")
    subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(options.ranks),
                    "--master-port", str(29600 + number), str(FOLDER / f"{options.what}.py"), *words, "--json", str(file)],
                   env=env, check=True, timeout=300)
    return json.loads(file.read_text(encoding="utf-8"))


def verdict(base, tuned):
    """Ratio tuned/base, half the spread of the base's runs as a share, and whether that is too slow."""
    middle = median(base)
    ratio, spread = median(tuned) / middle, (max(base) - min(base)) / 2 / middle
    return ratio, spread, ratio > 1 + max(0.01, spread)


def compare_sweeps(base, tuned):
    slow, logs = 0, []
    print(f"{'collective':<14}{'bytes':>10}{'base us':>10}{'tuned us':>10}{'ratio':>8}{'A/A':>8}")
    for index, row in enumerate(base[0]["rows"]):
        before = [r["rows"][index]["block_us"] for r in base]
        after = [r["rows"][index]["block_us"] for r in tuned]
        ratio, spread, bad = verdict(before, after)
        slow += bad
        logs.append(math.log(ratio))
        print(f"{row['collective']:<14}{row['bytes']:>10}{median(before):>10.1f}{median(after):>10.1f}{ratio:>8.3f}"
              f"{spread:>8.3f}{'  SLOWER' if bad else ''}")
    print(f"geometric mean of tuned/base {math.exp(sum(logs) / len(logs)):.3f}; {slow} of {len(logs)} rows slower")
    return slow or not all(r["right"] for r in base + tuned)


def compare_steps(base, tuned):
    before, after = [r["step_ms"] for r in base], [r["step_ms"] for r in tuned]
    ratio, spread, bad = verdict(before, after)
    alike = all(r["losses"] == base[0]["losses"] for r in base + tuned)
    print(f"step: base {median(before):.3f} ms, tuned {median(after):.3f} ms, ratio {ratio:.3f}, A/A {spread:.3f}"
          f"{', SLOWER' if bad else ''}; losses {'equal' if alike else 'DIFFER'}")
    return bad or not alike


def main():
    options, words = arguments()
    os.makedirs(options.out, exist_ok=True)
    base, tuned = [run(options, words, False, 0)], []
    for number in range(1, 2 * options.rounds, 2):
        tuned.append(run(options, words, True, number))
        base.append(run(options, words, False, number + 1))
    compare = compare_sweeps if options.what == "sweep" else compare_steps
    return 3 if compare(base, tuned) else 0


if __name__ == "__main__":
    sys.exit(main())
