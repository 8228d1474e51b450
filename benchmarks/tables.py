"""The other tables of a report: slow-down with occupied cores, memory, agreement."""

import statistics

# {key of a number of bytes in a row's memory, as the library reports it: heading}.
OWN = {
    "workspace": "workspace",
    "scratchpad": "scratchpad",
}


def extra(results):
    """Lines of Markdown for the other results in the rows."""
    rows = results["rows"]
    out = []
    busy = [row for row in rows if row.get("busy_seconds")]
    if busy:
        out += [
            "",
            f"With {results['busy']} core(s) taken by another process, milliseconds and the",
            "factor to the idle median of the same run:",
            "",
        ]
        out += _table(busy, lambda row: {n: _busy(row, n) for n in row["busy_seconds"]})
    measured = [row for row in rows if row.get("memory")]
    if measured:
        out += [
            "",
            "Peak resident growth in MB while running, in a process of its own; 'data' is what every",
            "library must hold (x, weights, y; in training their gradients too):",
            "",
        ]
        out += _table(measured, _peaks)
    reported = [row for row in measured if _own(row)]
    if reported:
        out += [
            "",
            "The memory that the libraries report for a call, in MB, without its inputs and results:",
            "",
        ]
        out += _table(reported, _own)
    if any(row.get("differences") for row in rows):
        worst = {}
        for row in rows:
            dtype = row["problem"]["dtype"]
            for name, value in row.get("differences", {}).items():
                worst[name, dtype] = max(value, worst.get((name, dtype), 0.0))
        out += [
            "",
            "Largest difference to the first column (for bfloat16: to our float32; for int8: to float64),",
            "relative to the largest value, over all rows: "
            + "; ".join(f"{name} {dtype} {value:.1e}" for (name, dtype), value in worst.items())
            + ".",
        ]
    return out


def _table(rows, cells_of):
    """A table as Markdown. cells_of(row) returns {heading: text}."""
    cells = [cells_of(row) for row in rows]
    names = list(dict.fromkeys(name for c in cells for name in c))
    head = ["(T,B,I,H)", "mode", "threads", *names]
    out = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row, values in zip(rows, cells, strict=True):
        line = [row["name"], row["mode"], str(row["threads"])]
        out.append("| " + " | ".join(line + [values.get(name, "") for name in names]) + " |")
    return out


def _busy(row, name):
    seconds = statistics.median(row["busy_seconds"][name])
    factor = seconds / statistics.median(row["seconds"][name])
    return f"{seconds * 1e3:.3g} (x{factor:.2g})"


def _megabytes(count):
    return f"{count / 1e6:.3g}"


def _peaks(row):
    peaks = {n: _megabytes(m["peak"]) for n, m in row["memory"].items() if "peak" in m}
    return {"data": _megabytes(row["data_bytes"]), **peaks}


def _own(row):
    return {
        f"{name}: {heading}": _megabytes(values[key])
        for name, values in row["memory"].items()
        for key, heading in OWN.items()
        if key in values
    }
