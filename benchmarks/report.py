"""Turns measurements into lines and tables."""

import statistics

from benchmarks import tables

# Our variants. The ratios of a row are for the first variant that the row has.
OURS = (
    "tf_rnn_ops",
    "tf_rnn_ops packed",
    "tf_rnn_ops Keras",
    "tf_rnn_ops BlockLSTM",
    "tf_rnn_ops jit",
    "tf_rnn_ops Keras jit",
    "tf_rnn_ops SavedModel",
)
# Our variants in another type than the problem's, for comparison.
FLOAT32 = (
    "tf_rnn_ops float32",
    "tf_rnn_ops packed float32",
    "tf_rnn_ops SavedModel float32",
)
OTHER_TYPES = (*FLOAT32, "tf_rnn_ops packed bfloat16")


def peers_of(results):
    """The names in all rows, in the order of the rows."""
    return list(dict.fromkeys(n for row in results["rows"] for n in row["seconds"]))


def medians(row):
    return {name: statistics.median(s) for name, s in row["seconds"].items()}


def fastest_peer(row):
    """Name and median seconds of the fastest other library, or (None, None)."""
    times = {n: t for n, t in medians(row).items() if n not in (*OURS, *OTHER_TYPES)}
    if not times:
        return None, None
    name = min(times, key=times.get)
    return name, times[name]


def own(row):
    """Name and median seconds of our variant for the row's ratios, or (None, None)."""
    times = medians(row)
    return next(((n, times[n]) for n in OURS if n in times), (None, None))


def ratio(row):
    """The speed-up over the fastest other library; None if a time is missing."""
    _, ours = own(row)
    _, peer = fastest_peer(row)
    return None if ours is None or peer is None else peer / ours


def over_float32(row):
    """The speed-up over the same variant in float32, or else over another one; None if a time is missing."""
    name, ours = own(row)
    times = medians(row)
    float32 = next((times[n] for n in (f"{name} float32", *FLOAT32) if n in times), None)
    return None if ours is None or float32 is None else float32 / ours


def _error(row, name):
    """The difference from float64 in brackets, for a problem of type int8."""
    if row["problem"]["dtype"] != "int8":
        return ""
    return f" ({row['differences'][name]:.1e})"


def line(row):
    """One line for the terminal."""
    parts = [f"{row['name']:38s} {row['mode']:9s}"]
    for name, seconds in sorted(medians(row).items(), key=lambda item: item[1]):
        parts.append(f"{name} {seconds * 1e3:.3g}{_error(row, name)}")
    value = ratio(row)
    if value is not None:
        parts.append(
            f"| {value:.2f} x the fastest other library, {share(row):.0%} of the GEMM peak"
        )
    if over_float32(row) is not None:
        parts.append(f"| {over_float32(row):.2f} x our own float32")
    if "busy_seconds" in row:
        parts.append("| busy: " + ", ".join(f"{n} x{f:.2g}" for n, f in slowdowns(row).items()))
    for name, reason in row["left_out"].items():
        if "only" not in reason:
            parts.append(f"| omitted: {name}: {reason}")
    return "  ".join(parts)


def share(row):
    """Our rate as a fraction of the GEMM peak in the same run."""
    return row["gflop"] / own(row)[1] / row["gemm_peak"]


def slowdowns(row):
    """{library: factor by which it is slower while other processes occupy cores}."""
    idle = medians(row)
    return {n: statistics.median(s) / idle[n] for n, s in row["busy_seconds"].items()}


def markdown(results):
    """The table of `make bench`: milliseconds, medians over the rounds."""
    names = peers_of(results)
    machine = results["machine"]
    out = [
        f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['isa'])}; {machine['date']}.",
        "Median milliseconds over the rounds; 'ratio' is the time of the fastest other library over that of the",
        "first tf_rnn_ops column; 'GEMM' its share of the fastest library's matrix product in the same run.",
        "A column computes in the type of its heading, or else in the type of the row, which is float32 if the row",
        "names none. In rows with int8 the number in brackets is the largest difference from float64, relative to the",
        "largest value.",
        "",
    ]
    out += [f"- {name}: {version}" for name, version in results["versions"].items()]
    out += [f"- absent: {name}: {why}" for name, why in results.get("absent", {}).items()]
    if machine.get("restricted_to"):
        out.append(f"- the CPU looks like one of {machine['restricted_to']} to all of them")
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
            text = f"**{text}**" if times[name] == best else text
            cells.append(text + _error(row, name))
        value = ratio(row)
        cells += ["", ""] if value is None else [f"{value:.2f}", f"{share(row):.0%}"]
        if narrow:
            value = over_float32(row)
            cells.append("" if value is None else f"{value:.2f}")
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out + tables.extra(results)) + "\n"
