"""Runs problems in child processes, by lines or by sets, and keeps a record of what was run."""

import dataclasses
import math
import pathlib
import subprocess
import tempfile

from robustness import drawn
from robustness.problem import draw
from robustness.problem.grammar import ISAS, parse
from support import subproc

# The kernels without TensorFlow, every instruction set and number of threads:
# tests/cc/cpu/problems_test.cc.
KERNELS = drawn.ROOT / "bazel-bin/tests/cc/cpu/problems_test"
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
            command, cwd=drawn.ROOT / "bazel-bin", capture_output=True, text=True, check=False
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


def _lines_of(name, seed, block):
    """The lines of a block, as the set is drawn today."""
    count, size = draw.SETS[name]
    numbers = range(block * size, min(count, (block + 1) * size))
    return [str(draw.problem(seed, number)) for number in numbers]


def run_set(name, seed=0, runners=("ops",), seconds=None, state=None, report=print):
    """Runs a set of draw.SETS by some of RUNNERS, as drawn.run_set(); returns the records."""
    count, block_size = draw.SETS[name]
    all_settings = settings()

    def run(runner, block, lines):
        setting = all_settings[block % len(all_settings)]
        outcomes = run_ops(lines, setting) if runner == "ops" else run_kernels(lines)
        return {
            "set": name, "seed": seed, "isa": setting.isa if runner == "ops" else "all",
            "threads": setting.threads if runner == "ops" else "all",
            "undecided": sum(not o["decided"] for o in outcomes),
            "failed": [o for o in outcomes if o["failed"]],
        }  # fmt: skip

    return drawn.run_set(
        [(runner, block) for block in range(-(-count // block_size)) for runner in runners],
        lambda block: _lines_of(name, seed, block),
        run,
        state,
        seconds,
        report,
    )


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
        problems = (
            draw.problem(seed, k)
            for r in mine
            for k in range(r["block"] * size, r["block"] * size + r["problems"])
        )
        pairs = draw.coverage(problems)
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
