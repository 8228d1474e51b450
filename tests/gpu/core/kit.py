#!/usr/bin/env python3
"""All that a new version needs from a GPU, in one call of 15 minutes: the kit's run.sh.

    tools/gpu_kit.sh FOLDER [COMMIT], then on the GPU machine: FOLDER/run.sh

1. Checks of every kernel (gpu.log).
2. Times of LayerRNN's layers, those of COMMIT next to these (old.log, new.log, and a table).
3. Times next to every rival, and the table of engines made from them (engines.log, engine_rows.inc).

Everything is printed as it comes, and the files are complete up to the last check at every moment. On a machine that
ends a command earlier, two calls do the same: run.sh --seconds 480 --stages checks layers, then --stages engines.
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = ("persistent", "engine", "layers", "block", "stack", "sanitizer")
# The stages, and their parts of the time. The layers are timed twice.
STAGES = {"checks": 2, "layers": 2, "engines": 4}
SECONDS = 840  # with four starts of PyTorch, 15 minutes
# The columns of layer-times that name a measurement, and those with our times.
NAMES, TIMES = slice(0, 5), {"persistent": 5, "steps": 6}
_CHECK = re.compile(r"^(?:ok|FAIL) +layer-times .*", re.MULTILINE)
_ROW = re.compile(r"\|(?: [^|]+ \|){10}")


def times_of(log):
    """{(layer, type, H, B, pass, algorithm): microseconds of a step} in the log of layer-times."""
    times = {}
    text = log.read_text() if log.exists() else ""
    for row in _ROW.findall("\n".join(_CHECK.findall(text))):
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        for algorithm, column in TIMES.items():
            if cells[column] != "error":
                times[(*cells[NAMES], algorithm)] = float(cells[column])
    return times


def comparison(old, new):
    """The lines of a table of the times that two logs have in common."""
    before, after = times_of(old), times_of(new)
    head = ("layer", "type", "H", "B", "pass", "algorithm", "old", "new", "new / old")
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for name in (name for name in after if name in before):
        cells = (before[name], after[name], after[name] / before[name])
        lines.append(f"| {' | '.join(name)} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="the kit")
    parser.add_argument(
        "--checks", nargs="+", default=CHECKS, help="sections of run.py (default: %(default)s)"
    )
    parser.add_argument(
        "--stages", nargs="+", choices=STAGES, default=tuple(STAGES), help="default: all"
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="for all stages (default: %(default)s)"
    )
    parser.add_argument("--pretend", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    kit = arguments.folder.resolve()
    part = arguments.seconds / sum(STAGES[stage] for stage in arguments.stages)
    failed = []

    def run(name, root, log, seconds, sections):
        print(f"== {name}", flush=True)
        command = [sys.executable, root / "tests/gpu/core/run.py", "--only", *sections]
        command += ["--library", root / "libcore.so", "--log", kit / log]
        command += ["--seconds", str(seconds)] + ["--pretend"] * arguments.pretend
        if subprocess.run(command).returncode:
            failed.append(name)

    if "checks" in arguments.stages:
        run("checks", kit, "gpu.log", STAGES["checks"] * part, arguments.checks)
    if "layers" in arguments.stages and (kit / "old").exists():
        seconds = STAGES["layers"] * part / 2
        run("old times", kit / "old", "old.log", seconds, ["layer-times"])
        run("new times", kit, "new.log", seconds, ["layer-times"])
        print("\n".join(comparison(kit / "old.log", kit / "new.log")), flush=True)
    if "engines" in arguments.stages:
        run("engines", kit, "engines.log", STAGES["engines"] * part, ["engine-times"])
        table = [sys.executable, kit / "tools/engine_table.py", kit / "engines.log"]
        if subprocess.run([*table, "--rows", kit / "engine_rows.inc"]).returncode:
            failed.append("table of engines")
    print(f"failed or cut off: {', '.join(failed) or 'nothing'}", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
