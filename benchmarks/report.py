"""Turns measurements into lines and tables."""

import statistics

from benchmarks import tables
from benchmarks.peers import in_another_type, is_ours

# Ratios from here on count as level.
LEVEL = 0.97


def is_our_float32(name):
    return is_ours(name) and name.endswith(" float32")


def peers_of(results):
    """The names in all rows, in the order of the rows."""
    return list(dict.fromkeys(n for row in results["rows"] for n in row["seconds"]))


def medians(row, of=statistics.median):
    return {name: of(s) for name, s in row["seconds"].items()}


def fastest_peer(row, of=statistics.median):
    """Name and seconds of the fastest other library, or (None, None)."""
    times = {n: t for n, t in medians(row, of).items() if not is_ours(n)}
    return min(times.items(), key=lambda item: item[1], default=(None, None))


def own(row, of=statistics.median):
    """Name and seconds of our first variant in the row's type, or (None, None)."""
    times = medians(row, of)
    first = (n for n in times if is_ours(n) and not in_another_type(n))
    return next(((n, times[n]) for n in first), (None, None))


def ratio(row, of=statistics.median):
    """The speed-up over the fastest other library; None if a time is missing."""
    ours, peer = own(row, of)[1], fastest_peer(row, of)[1]
    return None if ours is None or peer is None else peer / ours


def over_float32(row):
    """The speed-up over the same variant in float32, or else over another one; None if a time is missing."""
    name, ours = own(row)
    times = medians(row)
    names = (f"{name} float32", *filter(is_our_float32, times))
    float32 = next((times[n] for n in names if n in times), None)
    return None if ours is None or float32 is None else float32 / ours


def _error(row, name):
    """The difference from float64 in brackets, for a problem of type int8."""
    if row["problem"]["dtype"] != "int8" or name not in row["differences"]:
        return ""
    return f" ({row['differences'][name]:.1e})"


def share(row):
    """Our rate as a percentage of the GEMM peak in the same run; "" where one is missing."""
    ours, peak = own(row)[1], row["gemm_peak"]
    return f"{row['gflop'] / ours / peak:.0%}" if ours and peak else ""


def head(names):
    """The first lines of the table, for the libraries `names`."""
    ratios = ("ratio", "of smallest", "GEMM", "over own float32")
    cells = ("(T,B,I,H)", "mode", "threads", *names, *ratios)
    return [f"| {' | '.join(cells)} |", "|" + " --- |" * len(cells)]


def line(row, names, base=None):
    """A row of the table; `base` is the library of whose time the others are multiples."""
    times = medians(row)
    cells = [row["name"], row["mode"], str(row["threads"])]
    for name in names:
        if name not in times:
            cells.append("")
            continue
        text = f"{times[name] * 1e3:.3g}"
        text = f"**{text}**" if times[name] == min(times.values()) else text
        if base in times:
            text += f" (x{times[name] / times[base]:.2f})"
        cells.append(text + _error(row, name))
    ratios = (ratio(row), ratio(row, min))
    cells += ["" if value is None else f"{value:.2f}" for value in ratios]
    cells.append(share(row))
    narrow = over_float32(row)
    cells.append("" if narrow is None else f"{narrow:.2f}")
    return f"| {' | '.join(cells)} |"


def absences(results):
    """Lines with the reasons why libraries or times are absent."""
    reasons = list(results["absent"].items())
    for row in results["rows"]:
        reasons += [(n, why[:90]) for n, why in row["left_out"].items() if "only" not in why]
    return [f"- absent: {name}: {why}" for name, why in dict.fromkeys(reasons)]


def markdown(results):
    """The tables of `make bench`: milliseconds, medians over the rounds."""
    names = peers_of(results)
    machine = results["machine"]
    out = [
        f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['isa'])}; {machine['date']}.",
        "Median milliseconds over the rounds; 'ratio' is the time of the fastest other library over that of the",
        "first tf_rnn_ops column, 'of smallest' that of the smallest times; 'GEMM' its share of the fastest library's",
        "matrix product in the same run. A column computes in the type of its heading, or else in the type of the row,",
        "which is float32 if the row names none. In rows with int8 the number in brackets is the largest difference",
        "from float64, relative to the largest value.",
        "",
    ]
    out += [f"- {name}: {version}" for name, version in results["versions"].items()]
    out += absences(results)
    if machine["restricted_to"]:
        out.append(f"- the CPU looks like one of {machine['restricted_to']} to all of them")
    out += ["", *head(names), *(line(row, names, results["base"]) for row in results["rows"])]
    return "\n".join([*out, "", summary(results["rows"]), *tables.extra(results)]) + "\n"


def summary(rows):
    """A line for each number of steps and mode: the mean ratio, its range, and the cases that are level or better."""
    groups = {}
    for row in rows:
        if value := ratio(row):
            groups.setdefault((row["problem"]["T"], row["mode"]), []).append(value)
    return "\n".join(
        f"T={steps}, {mode}: ratio {statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
        f"{sum(value >= LEVEL for value in ratios)} of {len(ratios)} cases level or faster"
        for (steps, mode), ratios in sorted(groups.items())
    )
