#!/usr/bin/env python3
"""Markdown tables of docs/performance.md from the JSON of `autoccl bench`.

usage: tables.py peers|tuned|interference|transfer|many_cores FILE.json...
       tables.py best_configs FILE.json...   the exhaustive winners, one a line

Exit 0 when the table was written to stdout, 2 with one line on stderr for a bad call or file.
"""
import collections
import json
import math
import sys

SUFFIXES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
AXES = ("nc", "nt", "c")
SHOWN_SUBSPACES = 8  # of a task, the fastest ones
REVERSAL = 1.10  # a rise before a fall counts as a second peak only above this factor


class BadInput(Exception):
    """A file that is no result of autoccl bench; the text names it."""


def size_text(size):
    for unit, name in SUFFIXES:
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(us):
    if not us:
        return "-"
    if us >= 10000:
        return f"{us / 1000:.1f} ms"
    return f"{us:.0f}" if us >= 100 else f"{us:.1f}" if us >= 10 else f"{us:.2f}"


def factor_text(value):
    return f"{value:.2f}x" if value < 100 else f"{value:.0f}x"


def geometric_mean(values):
    values = [v for v in values if v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def load(paths):
    """All rows and grids of the files, and the line about machine and date that stands under a table."""
    rows, grid, sources = [], [], []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
            rows += document["rows"]
            grid += document.get("grid", [])
            sources.append((document["machine"], document["date"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path}: no result of autoccl bench: {error!r}") from error
    machines = sorted({machine for machine, _ in sources})
    dates = sorted(date for _, date in sources)
    span = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return rows, grid, f"Measured on {'; '.join(machines)}, {span}."


def table(head, lines):
    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(text + ["| " + " | ".join(line) + " |" for line in lines])


def task_of(row):
    return row["ranks"], row["collective"], row["bytes"]


def by_task(rows):
    tasks = collections.OrderedDict()
    for row in rows:
        tasks.setdefault(task_of(row), []).append(row)
    return tasks


def find(rows, who, buffers=None):
    for row in rows:
        if row["who"] == who and buffers in (None, row["buffers"]):
            return row
    return None


def interval_text(ratio):
    return f"{factor_text(ratio['middle'])} [{ratio['low']:.2f}, {ratio['high']:.2f}]"


def peers(rows, _grid):
    """Each task: our default in both kinds of buffers with its share of the limit, then each peer's time
    and its ratio to both."""
    names = list(dict.fromkeys(r["who"] for r in rows if r["engine"] != "cpu"))
    parts = []
    groups = collections.OrderedDict()
    for task, found in by_task(rows).items():
        groups.setdefault(task[:2], []).append((task[2], found))
    for (ranks, collective), tasks in groups.items():
        lines = [peer_line(size, found, names) for size, found in tasks]
        parts.append(f"**{collective}, {ranks} ranks** (us; R registered, O ordinary buffers; after a peer's "
                     "time: peer / R, peer / O)\n\n" +
                     table(["size", "R", "of limit", "O", *names], lines))
    parts.append(peer_means(rows, names))
    return "\n\n".join(parts)


def peer_line(size, found, names):
    registered, ordinary = find(found, "default", "registered"), find(found, "default", "ordinary")
    line = [size_text(size)]
    line.append(time_text(registered["median_us"]) if registered else "-")
    line.append(f"{100 * registered['share_of_limit']:.0f} %" if registered else "-")
    line.append(time_text(ordinary["median_us"]) if ordinary else "-")
    for name in names:
        peer = find(found, name)
        ratios = [r["ratios"][name] for r in (registered, ordinary) if r and name in r["ratios"]]
        marks = ", ".join(factor_text(r["middle"]) + ("!" if r["high"] < 0.95 else "") for r in ratios)
        line.append(f"{time_text(peer['median_us'])} ({marks})" if peer else "-")
    return line


def peer_means(rows, names):
    lines = []
    for buffers in ("registered", "ordinary"):
        ours = [r for r in rows if r["who"] == "default" and r["buffers"] == buffers]
        means = [geometric_mean(r["ratios"][n]["middle"] for r in ours if n in r["ratios"]) for n in names]
        if ours:
            lines.append([buffers] + [factor_text(m) if m else "-" for m in means])
    behind = [r for r in rows if r.get("behind")]
    text = "Geometric mean of peer / default over all of the above:\n\n" + table(["buffers", *names], lines)
    wrong = sum(r["wrong"] for r in rows)
    return text + f"\n\nRows behind a peer (upper 95 % bound below 0.95, marked !): {len(behind)}. " \
                  f"Wrong elements: {wrong}."


def tuned(rows, _grid):
    """Default, tuned, oracle; the gain with its interval; the share of the oracle's bandwidth."""
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault((*task_of(row), row["compute"], row["buffers"]), []).append(row)
    lines, shares, gains = [], [], []
    for (ranks, collective, size, compute, _), found in groups.items():
        default, best, oracle = (find(found, who) for who in ("default", "tuned", "exhaustive"))
        if not default or not best:
            continue
        gain = best["ratios"].get("default")
        share = oracle["median_us"] / best["median_us"] if oracle and best["median_us"] else 0
        gains.append(gain["middle"] if gain else 0)
        shares.append(share)
        lines.append([collective, str(ranks), size_text(size), compute, time_text(default["median_us"]),
                      time_text(best["median_us"]), interval_text(gain) if gain else "-",
                      time_text(oracle["median_us"]) if oracle else "-",
                      f"{100 * share:.0f} %" if share else "-", f"`{best['config']}`"])
    head = ["collective", "ranks", "size", "compute", "default us", "tuned us", "gain [95 %]", "oracle us",
            "of oracle", "tuned config"]
    return table(head, lines) + f"\n\nGeometric means: gain {factor_text(geometric_mean(gains))}, " \
                                f"{100 * geometric_mean(shares):.1f} % of the oracle."


def interference(rows, _grid):
    """One line for each task and load: tuned under load against the default and against the config that
    was tuned without load."""
    alone = {task_of(r): r for r in rows if r["compute"] == "none" and r["who"] == "default"}
    lines = []
    for (task, compute), found in group_by_load(rows).items():
        default, best, pinned = (find(found, who) for who in ("default", "tuned", "pinned"))
        if not default or not best:
            continue
        base = alone.get(task)
        over_alone = best["median_us"] / base["median_us"] if base and base["median_us"] else 0
        over_pinned = pinned["median_us"] / best["median_us"] if pinned and best["median_us"] else 0
        gain = best["ratios"].get("default")
        lines.append([task[1], size_text(task[2]), compute, time_text(default["median_us"]),
                      time_text(best["median_us"]), interval_text(gain) if gain else "-",
                      factor_text(over_alone) if over_alone else "-",
                      time_text(pinned["median_us"]) if pinned else "-",
                      factor_text(over_pinned) if over_pinned else "-",
                      f"{best['compute_gflops']:.0f}" if compute != "none" else "-"])
    return table(["collective", "size", "compute", "default us", "tuned us", "gain [95 %]",
                  "tuned / default alone", "tuned alone, us", "gain of tuning under load", "GFLOP/s beside"],
                 lines)


def group_by_load(rows):
    groups = collections.OrderedDict()
    for row in sorted(rows, key=lambda r: (task_of(r)[1], task_of(r)[2])):
        groups.setdefault((task_of(row), row["compute"]), []).append(row)
    return groups


def transfer(rows, _grid):
    """How much longer task j takes with the best config of task i, in percent of its own best."""
    best = {task_of(r): r["config"] for r in rows if r["who"] == "exhaustive"}
    times = {(task_of(r), r["config"]): r["median_us"] for r in rows if r["who"] == "pinned"}
    tasks = sorted(best)
    names = [f"{t[1]} {size_text(t[2])} x{t[0]}" for t in tasks]
    lines = []
    for i, source in enumerate(tasks):
        line = [names[i]]
        for target in tasks:
            own, moved = times.get((target, best[target])), times.get((target, best[source]))
            line.append(f"{100 * (moved / own - 1):+.0f}" if own and moved else "-")
        lines.append(line)
    return table(["config of \\ on"] + names, lines) + \
        "\n\nA dash: the config is not possible there. Own column: 0 by definition."


def fields_of(config):
    """"twoshot/zero/shm nc=2 nt=1 c=64K wait=spin" -> (subspace, {"nc": 2, "nt": 1, "c": 65536})."""
    words = config.split()
    values, subspace = {}, words[0]
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name in AXES:
            scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(value[-1], 1)
            values[name] = int(value.rstrip("KMG")) * scale
        else:
            subspace += " " + word
    return subspace, values


def curve(points, axis):
    """Time over one parameter with the others at the best point: [(value, us)], ascending."""
    best = min(points, key=lambda p: p[1])[0]
    others = [a for a in AXES if a != axis]
    line = {v[axis]: us for v, us in points if all(v.get(a) == best.get(a) for a in others)}
    return sorted(line.items())


def reversals(line):
    """How often the curve turns down again after it had risen by more than REVERSAL: 0 is one valley."""
    count, lowest, highest, rising = 0, math.inf, 0.0, False
    for _, us in line:
        if not rising:
            lowest = min(lowest, us)
            if us > lowest * REVERSAL:
                rising, highest = True, us
        else:
            highest = max(highest, us)
            if us * REVERSAL < highest:
                count, rising, lowest = count + 1, False, us
    return count


def many_cores(rows, grid):
    """Tuned against the oracle, then the shape of the response along each parameter."""
    lines = []
    tasks = collections.OrderedDict()
    for row in grid:
        subspace, values = fields_of(row["config"])
        tasks.setdefault((task_of(row), subspace), []).append((values, row["median_us"]))
    totals = {axis: [0, 0] for axis in AXES}
    shown = collections.Counter()
    for (task, subspace), points in sorted(tasks.items(), key=lambda t: (t[0][0], min(p[1] for p in t[1]))):
        line = [f"{task[1]} {size_text(task[2])} x{task[0]}", subspace,
                time_text(min(us for _, us in points))]
        for axis in AXES:
            response = curve(points, axis)
            if len(response) > 2:
                totals[axis][0] += 1
                totals[axis][1] += reversals(response) == 0
            spread = max(us for _, us in response) / min(us for _, us in response)
            best = min(response, key=lambda p: p[1])[0]
            text = size_text(best) if axis == "c" else str(best)
            line.append(f"{text} ({factor_text(spread)}, {reversals(response)})")
        shown[task] += 1
        if shown[task] <= SHOWN_SUBSPACES:
            lines.append(line)
    share = "; ".join(f"{axis}: {good} of {all_}" for axis, (all_, good) in totals.items())
    return tuned(rows, grid) + f"\n\nBest value along each parameter (worst / best, further valleys), the {SHOWN_SUBSPACES} fastest " \
        "subspaces of each task:\n\n" + \
        table(["task", "subspace", "best us", "NC", "NT", "C"], lines) + \
        f"\n\nCurves of all subspaces with three points or more with one valley, reversals up to {REVERSAL:.2f}x allowed: {share}."


def best_configs(rows):
    return "\n".join(sorted({r["config"] for r in rows if r["who"] == "exhaustive"}))


TABLES = {"peers": peers, "tuned": tuned, "interference": interference, "transfer": transfer,
          "many_cores": many_cores}


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in (*TABLES, "best_configs"):
        print("usage: tables.py " + "|".join(TABLES) + " FILE.json...", file=sys.stderr)
        return 2
    try:
        rows, grid, source = load(arguments[1:])
    except BadInput as error:
        print(f"tables.py: {error}", file=sys.stderr)
        return 2
    if arguments[0] == "best_configs":
        print(best_configs(rows))
        return 0
    print(TABLES[arguments[0]](rows, grid) + "\n\n" + source)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
