"""Turns measurements into lines and tables."""

import statistics

from benchmarks import tables

# The first that a row has is the one that ratios are of.
OURS = (
    "tf_rnn_ops",
    "tf_rnn_ops Keras",
    "tf_rnn_ops BlockLSTM",
    "tf_rnn_ops packed",
    "tf_rnn_ops float32",
    "tf_rnn_ops jit",
    "tf_rnn_ops Keras jit",
    "tf_rnn_ops SavedModel",
)
# Ours in float32 beside problems of another type.
FLOAT32 = "tf_rnn_ops float32"


def peers_of(results):
    """The names that any row has, in the order of the rows."""
    return list(dict.fromkeys(n for row in results["rows"] for n in row["seconds"]))


def medians(row):
    return {name: statistics.median(s) for name, s in row["seconds"].items()}


def fastest_peer(row):
    """Name and median seconds of the fastest peer that is not ours, or (None, None).

    Where the run restricts the instruction set, of those that obey.
    """
    apart = (*OURS, *row.get("unrestricted", ()))
    times = {n: t for n, t in medians(row).items() if n not in apart}
    if not times:
        return None, None
    name = min(times, key=times.get)
    return name, times[name]


def own(row):
    """Which of ours the row's ratios are of, and its median seconds, or (None, None)."""
    times = medians(row)
    return next(((n, times[n]) for n in OURS if n in times and n != FLOAT32), (None, None))


def ratio(row):
    """How many times faster than the fastest peer we are; None where either is missing."""
    _, ours = own(row)
    _, peer = fastest_peer(row)
    return None if ours is None or peer is None else peer / ours


def over_float32(row):
    """How many times faster than our own float32 we are, or None."""
    _, ours = own(row)
    float32 = medians(row).get(FLOAT32)
    return None if ours is None or float32 is None else float32 / ours


def line(row):
    """One line for the terminal."""
    parts = [f"{row['name']:38s} {row['mode']:9s}"]
    for name, seconds in sorted(medians(row).items(), key=lambda item: item[1]):
        parts.append(f"{name} {seconds * 1e3:.3g}")
    value = ratio(row)
    if value is not None:
        parts.append(f"| {value:.2f} x the fastest peer, {share(row):.0%} of the GEMM peak")
    if over_float32(row) is not None:
        parts.append(f"| {over_float32(row):.2f} x our own float32")
    if "busy_seconds" in row:
        parts.append("| busy: " + ", ".join(f"{n} x{f:.2g}" for n, f in slowdowns(row).items()))
    for name, reason in row["left_out"].items():
        if "only" not in reason:
            parts.append(f"| left out: {name}: {reason}")
    return "  ".join(parts)


def share(row):
    """Our rate as a share of the GEMM peak measured in the same run."""
    return row["gflop"] / own(row)[1] / row["gemm_peak"]


def slowdowns(row):
    """By what factor each peer is slower with cores taken from it."""
    idle = medians(row)
    return {n: statistics.median(s) / idle[n] for n, s in row["busy_seconds"].items()}


def markdown(results):
    """The table of docs/history/performance.md: milliseconds, medians over the rounds."""
    names = peers_of(results)
    machine = results["machine"]
    out = [
        f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['isa'])}; {machine['date']}.",
        "Median milliseconds over the rounds; 'ratio' is the fastest peer's time over that of the",
        "first tf_rnn_ops column; 'GEMM' its share of the fastest library's matrix product in the same run.",
        "",
    ]
    out += [f"- {name}: {version}" for name, version in results["versions"].items()]
    out += [f"- absent: {name}: {why}" for name, why in results.get("absent", {}).items()]
    if results.get("isa"):
        out.append(
            f"- restricted to {results['isa']} by: "
            + ", ".join(f"{k}={v}" for k, v in results["environment"].items())
        )
        out += [f"- not restricted: {n} {why}" for n, why in results["unrestricted"].items()]
    narrow = any(over_float32(row) is not None for row in results["rows"])
    head = ["(T,B,I,H)", "mode", "threads", *names, "ratio", "GEMM"]
    head += ["over own float32"] if narrow else []
    out += ["", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in results["rows"]:
        times = medians(row)
        cells = [row["name"], row["mode"], str(row["threads"])]
        best = min(times.values()) if times else None
        for name in names:
            if name not in times:
                cells.append("")
                continue
            text = f"{times[name] * 1e3:.3g}"
            cells.append(f"**{text}**" if times[name] == best else text)
        value = ratio(row)
        cells += ["", ""] if value is None else [f"{value:.2f}", f"{share(row):.0%}"]
        if narrow:
            value = over_float32(row)
            cells.append("" if value is None else f"{value:.2f}")
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out + tables.extra(results)) + "\n"
