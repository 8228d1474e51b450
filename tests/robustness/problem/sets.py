"""Runs problems in child processes, by lines or by sets, and keeps a record of what was run."""

import dataclasses
import datetime
import hashlib
import json
import math
import pathlib
import subprocess
import tempfile
import time

from robustness.problem import draw
from robustness.problem.grammar import ISAS, parse
from support import subproc

ROOT = pathlib.Path(__file__).resolve().parents[3]
# The kernels without TensorFlow, every instruction set and number of threads:
# tests/cc/cpu/problems_test.cc.
KERNELS = ROOT / "bazel-bin/tests/cc/cpu/problems_test"
THREADS = (1, 2, 3, 8)
RUNNERS = ("ops", "kernels")
# The time limit of one process, in seconds.
LIMIT = 3600


@dataclasses.dataclass
class Setting:
    """In what the Python ops run a problem."""

    isa: str = ""  # "": the best
    threads: int = 0  # 0: TensorFlow's own number


def run_ops(lines, setting, laws="one"):
    """Checks problems through the Python ops; returns an outcome for each, see worker.py."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "problems.txt"
        file.write_text("\n".join(lines))
        isa = {"TF_RNN_OPS_CPU_ISA": setting.isa} if setting.isa else {}
        outcomes = subproc.collect(
            "robustness.problem.worker", file, setting.threads, laws, timeout=LIMIT, **isa
        )
    for outcome in outcomes:
        if "died" in outcome:
            outcome |= {"failed": f"the process died with {outcome['died']}", "decided": True}
        if outcome["failed"]:
            where = {"isa": setting.isa, "threads": setting.threads}
            outcome["label"] = str(parse(outcome["label"]).replace(**where))
    return outcomes


def run_kernels(lines):
    """Checks problems on the kernels without TensorFlow; returns an outcome for each, as run_ops()."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "problems.txt"
        file.write_text("\n".join(lines))
        # The variants are found from the working directory.
        command = ["timeout", str(LIMIT), str(KERNELS), str(file)]
        done = subprocess.run(
            command, cwd=ROOT / "bazel-bin", capture_output=True, text=True, check=False
        )
    said = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("problem\t")]
    verdicts = {label: verdict for _, verdict, label in said}
    failed = {"ok": "", "undecided": "", "failed": "on the kernels", None: "no verdict"}
    outcomes = [
        {"label": line, "failed": failed[verdicts.get(line)],
         "decided": verdicts.get(line) != "undecided"}
        for line in lines
    ]  # fmt: skip
    if done.returncode:
        last = next((o for o in outcomes if o["failed"]), outcomes[-1])
        last["failed"] += f"; the kernels ended with {done.returncode}: {done.stderr[-2000:]}"
        last["log"] = done.stdout[-20000:]
    return outcomes


def run_lines(lines, runners=RUNNERS):
    """Checks problems in the setting that each names, with all laws; returns the outcomes."""
    outcomes = []
    for line in lines:
        problem = parse(line)
        if "ops" in runners:
            outcomes += run_ops([str(problem)], Setting(problem.isa, problem.threads), "all")
        if "kernels" in runners and KERNELS.exists():
            outcomes += run_kernels([str(problem)])
    return outcomes


def settings():
    """(instruction set, threads) in the order in which blocks take them, each pair in turn."""
    import tf_rnn_ops

    isas = ISAS[: ISAS.index(tf_rnn_ops.cpu_isa()) + 1]
    pairs = len(isas) * len(THREADS)
    # Both change from block to block; where they have come round together, one is moved on.
    rounds = math.lcm(len(isas), len(THREADS))
    return [
        Setting(isas[k % len(isas)], THREADS[(k + k // rounds) % len(THREADS)])
        for k in range(pairs)
    ]


def _version():
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _cpu():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def _lines_of(name, seed, block):
    """The lines of a block, as the set is drawn today."""
    count, size = draw.SETS[name]
    numbers = range(block * size, min(count, (block + 1) * size))
    return [str(draw.problem(seed, number)) for number in numbers]


def _digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _records(state, name, seed):
    """{(runner, block): its last record}, of blocks that are drawn today as they were."""
    if state is None or not state.exists():
        return {}
    last = {(r["runner"], r["block"]): r for r in map(json.loads, state.read_text().splitlines())}
    blocks = {block for _, block in last}
    digests = {block: _digest(_lines_of(name, seed, block)) for block in blocks}
    return {key: r for key, r in last.items() if r.get("lines") == digests[r["block"]]}


def run_set(name, seed=0, runners=("ops",), seconds=None, state=None, report=print):
    """Runs a set block by block, those of `state` left out in which nothing failed.

    Args:
        name: A key of draw.SETS.
        seed: The seed of the set.
        runners: Of RUNNERS.
        seconds: No block begins after this many seconds.
        state: File with a line of JSON for each block that was run, or None. A block whose problems
            were drawn otherwise counts as not run.
        report: Called with a line of text for each block.

    Returns:
        The last records of all blocks, those of earlier runs too.
    """
    count, block_size = draw.SETS[name]
    records = _records(state, name, seed)
    done = {key for key, record in records.items() if not record["failed"]}
    version, begin, all_settings = _version(), time.monotonic(), settings()
    todo = [(r, b) for b in range(-(-count // block_size)) for r in runners if (r, b) not in done]
    if not todo:
        report(f"nothing is left to run; without {state} the blocks run anew")
    for runner, block in todo:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        lines = _lines_of(name, seed, block)
        setting, started = all_settings[block % len(all_settings)], time.monotonic()
        outcomes = run_ops(lines, setting) if runner == "ops" else run_kernels(lines)
        record = {
            "set": name, "seed": seed, "runner": runner, "block": block, "problems": len(lines),
            "lines": _digest(lines), "cpu": _cpu(),
            "isa": setting.isa if runner == "ops" else "all",
            "threads": setting.threads if runner == "ops" else "all",
            "undecided": sum(not o["decided"] for o in outcomes),
            "failed": [o for o in outcomes if o["failed"]],
            "seconds": round(time.monotonic() - started, 1),
            "date": datetime.date.today().isoformat(), "version": version,
        }  # fmt: skip
        records[runner, block] = record
        if state is not None:
            state.parent.mkdir(parents=True, exist_ok=True)
            with state.open("a") as file:
                file.write(json.dumps(record) + "\n")
        report(
            f"{runner} block {block}: {len(lines)} problems in {record['seconds']} s, "
            f"{len(record['failed'])} failed"
        )
    return list(records.values())


def failures(records):
    """A line of text for each problem that failed."""
    return [f"{r['runner']}: {o['label']}: {o['failed']}" for r in records for o in r["failed"]]


def _distinct(records, key):
    return " and ".join(sorted({r[key] for r in records}))


def summary(records):
    """The coverage of the records of one set, as lines of text."""
    found = []
    for runner in RUNNERS:
        mine = [r for r in records if r["runner"] == runner]
        if not mine:
            continue
        name, seed = mine[0]["set"], mine[0]["seed"]
        size = draw.SETS[name][1]
        drawn = (
            draw.problem(seed, k)
            for r in mine
            for k in range(r["block"] * size, r["block"] * size + r["problems"])
        )
        pairs = draw.coverage(drawn)
        found.append(
            f"{runner}: {sum(r['problems'] for r in mine)} of {draw.SETS[name][0]} problems of "
            f"{name} (seed {seed}), {len(pairs)} pairs of choices, the rarest "
            f"{min(pairs.values())} times, {sum(r['seconds'] for r in mine):.0f} s, "
            f"{mine[0]['date']} to {mine[-1]['date']}, at {_distinct(mine, 'version')}, on "
            f"{_distinct(mine, 'cpu')}; "
            f"{sum(r['undecided'] for r in mine)} gradients of relu undecided, "
            f"{sum(len(r['failed']) for r in mine)} failed"
        )
    return found
