#!/usr/bin/env python3
"""The GPU core on a GPU with PyTorch alone: no TensorFlow, one command, one deadline.

    python3 tests/gpu/core/run.py [--seconds 240] [--report build/gpu.md]

Builds the core where --library is not there yet. Runs the sections in their order, the most telling
first: `stack`, `engine` (stacks without cuDNN), `block` and `layers` compare every configuration with
float64, `persistent` is for the persistent kernels of LayerRNN, and `sanitizer` runs small ones under
compute-sanitizer. `stack-times`, `block-times`, `layer-times` and `engine-times` measure (times.py), `streams`
may hang. A check that hangs, crashes or loses the GPU costs only itself. The log
and the report are complete up to the last check at every moment, so a run that is cut off is of
use. With --pretend, device memory is host memory, for a mock driver, cuDNN and cuBLAS.
"""

import argparse
import datetime
import pathlib
import re
import subprocess
import sys
import time

import isolation

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import verification_page  # noqa: E402

SECTIONS = ("stack", "engine", "block", "layers", "block-times", "layer-times", "persistent")
SECTIONS += ("stack-times", "engine-times", "sanitizer", "streams")
_SHARE = re.compile(r"^(?:ok  |FAIL) (\S+ \S+) .*?([\d.e+-]+|inf) of the bound")
_ROW = re.compile(r"\|(?: [^|]* \|)+")


class Report:
    """The summary of the lines of a run, as Markdown."""

    def __init__(self, command):
        self.command = command
        self.device, self.last, self.started = "unknown", "not started", time.monotonic()
        self.counts, self.worst = {}, {}  # by section and type
        self.failures, self.heads, self.rows = [], {}, {}  # of tables, by section

    def add(self, line):
        if line.startswith("device: "):
            self.device = line.removeprefix("device: ")
            return
        if line.startswith(isolation.TABLE):
            title, head = line.removeprefix(isolation.TABLE).split(": ")
            self.heads[title.split()[0]] = (title, head)
            return
        self.last = line if len(line) < 100 else line[:97] + "..."
        if not line.startswith((isolation.GOOD, isolation.BAD)):
            return
        good = line.startswith(isolation.GOOD)
        words = line[len(isolation.GOOD) :].split()
        group = " ".join(words[:2])
        passed, failed = self.counts.get(group, (0, 0))
        self.counts[group] = (passed + good, failed + (not good))
        share = _SHARE.match(line)
        if share:
            self.worst[group] = max(self.worst.get(group, 0.0), float(share[2]))
        if words[0] in self.heads:
            rows = self.rows.setdefault(words[0], [])
            rows += _ROW.findall(line.replace("| |", "|\n|"))
        if not good:
            self.failures.append(_ROW.sub("", line).strip())

    def markdown(self):
        seconds = time.monotonic() - self.started
        out = [
            f"Date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC. "
            f"Device: {self.device}. {seconds:.0f} s.",
            "",
            f"Command: `{self.command}`",
            "",
            f"Last line: {self.last}",
            "",
            "| checks | passed | failed | worst error / bound |",
            "| --- | --- | --- | --- |",
        ]
        for group, (passed, failed) in self.counts.items():
            worst = f"{self.worst[group]:.2g}" if group in self.worst else ""
            out.append(f"| {group} | {passed} | {failed} | {worst} |")
        if self.failures:
            out += ["", "```", *self.failures, "```"]
        for section, rows in self.rows.items():
            title, head = self.heads[section]
            rule = "|" + " --- |" * (head.count("|") - 1)
            out += ["", f"{title}:", "", head, rule, *rows]
        return "\n".join(out) + "\n"


def build(library):
    """The library, made where it is not there."""
    if not library.exists():
        print("building the core ...", flush=True)
        subprocess.run(["bash", HERE / "build.sh", library.parent], check=True)
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--library",
        type=pathlib.Path,
        default=ROOT / "build/gpu_core/libcore.so",
        help="the library of the core, which is built if the file does not exist (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=SECTIONS,
        default=SECTIONS,
        metavar="SECTION",
        help=f"the sections to run, of {', '.join(SECTIONS)} (default: all)",
    )
    parser.add_argument(
        "--seconds", type=float, help="stop after this many seconds (default: no limit)"
    )
    parser.add_argument("--report", type=pathlib.Path, help="the page to write the report into")
    parser.add_argument("--log", type=pathlib.Path, help="the file for every line")
    parser.add_argument("--pretend", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    start = time.monotonic()
    command = [sys.executable, str(HERE / "suite.py"), str(build(arguments.library.resolve()))]
    command += ["--sections", *arguments.only] + ["--pretend"] * arguments.pretend
    report = Report(" ".join(["python3", "tests/gpu/core/run.py", *sys.argv[1:]]))
    log = open(arguments.log, "w", buffering=1) if arguments.log else None

    def listen(line):
        print(line, flush=True)
        if log:
            log.write(line + "\n")
        report.add(line)
        if arguments.report:
            verification_page.write(arguments.report, "core", report.markdown())

    left = arguments.seconds - (time.monotonic() - start) if arguments.seconds else None
    sys.exit(isolation.Supervisor(command, listen, left).run())


if __name__ == "__main__":
    main()
