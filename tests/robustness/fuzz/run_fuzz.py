"""Runs the libFuzzer targets in turn: `python -m robustness.fuzz.run_fuzz --help`."""

import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

from robustness.drawn import add_record, jsonl
from support import native_build
from support.command_line import parse_args

HERE = pathlib.Path(__file__).resolve().parent
COMMITTED = HERE / "corpora"
NATIVE = ("shapes", "ops", "kernels", "packed", "stepper")
# In Python, under atheris.
READERS = "readers"
TARGETS = (*NATIVE, READERS)
ATHERIS = native_build.ROOT / "build/atheris"
SANITIZERS = "address,undefined"
FLAGS = (
    "-O1", "-g1", "-fno-omit-frame-pointer", f"-fsanitize=fuzzer-no-link,{SANITIZERS}",
    "-fno-sanitize-recover=undefined", "-DRNN_OPS_DCHECK", "-Wno-unknown-warning-option",
)  # fmt: skip
# The size of an input in bytes. No target reads more.
LONGEST = 400
_STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)")


def build(folder, targets, compiler, jobs, isa):
    """{target: command}, which run the kernels of `isa`."""
    native = native_build.NativeBuild(folder, FLAGS, compiler, jobs)
    isa_flags = native_build.isa_flags()
    tested = [
        *native_build.core_sources(),
        *native_build.cpu_sources(),
        *native_build.step_sources(),
    ]
    objects = native.compile([*tested, *native_build.KERNEL_HELPERS], isa_flags["baseline"])
    library = native.archive("libtested.a", objects)
    if isa != "baseline":
        level = native_build.NativeBuild(folder / isa, FLAGS, compiler, jobs)
        kernels = level.compile(["cc/cpu/dispatch/kernels_isa.cc"], isa_flags[isa])
        # Where the programs look for it.
        level.link(f"../_tf_rnn_ops_{isa}.so", kernels, ["-shared"])
    # The library of a level finds what counts its edges in the program.
    link = [f"-fsanitize=fuzzer,{SANITIZERS}", "-rdynamic", "-lgtest", "-lpthread", "-ldl"]
    (initialize,) = native.compile(
        ["tests/robustness/fuzz/native/initialize.cc"], isa_flags["baseline"]
    )
    programs = {}
    for target in targets:
        source = f"tests/robustness/fuzz/native/{target}_target.cc"
        objects = native.compile([source], isa_flags["baseline"])
        inputs = [initialize, *objects, library]
        programs[target] = [native.link(f"{target}_target", inputs, link)]
    return programs


def readers():
    """{READERS: command}, with atheris installed outside of the environment; empty if that is not possible."""
    if not (ATHERIS / "atheris").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", ATHERIS, "atheris"]
        if subprocess.run(list(map(str, pip)), check=False).returncode:
            print("The target in Python is left out: pip does not install atheris.")
            return {}
    return {READERS: [sys.executable, "-m", "robustness.fuzz.guided_readers"]}


def read_corpus(target):
    """The inputs of a committed corpus: for each its size in two bytes, low byte first, and its bytes."""
    file = COMMITTED / f"{target}.seeds"
    data = file.read_bytes() if file.exists() else b""
    inputs, begin = [], 0
    while begin < len(data):
        end = begin + 2 + int.from_bytes(data[begin : begin + 2], "little")
        inputs.append(data[begin + 2 : end])
        begin = end
    return inputs


def write_corpus(target, inputs):
    """The shortest first, so that the same inputs make the same file."""
    COMMITTED.mkdir(exist_ok=True)
    ordered = sorted(inputs, key=lambda data: (len(data), data))
    parts = [len(data).to_bytes(2, "little") + data for data in ordered]
    (COMMITTED / f"{target}.seeds").write_bytes(b"".join(parts))


def unpack(target, folder):
    """Adds the committed corpus of a target to the files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(read_corpus(target)):
        (folder / f"committed-{k}").write_bytes(data)


def minimise(command, target, corpus, isa):
    """Replaces the committed corpus by the fewest inputs that reach what `corpus` reaches."""
    smallest = corpus.with_name(f"{target}-smallest")
    shutil.rmtree(smallest, ignore_errors=True)
    smallest.mkdir()
    # By edges alone: how often each is passed would keep ten times as many inputs.
    command = [*command, "-merge=1", "-use_counters=0", f"-max_len={LONGEST}", smallest, corpus]
    subprocess.run(
        list(map(str, command)), check=True, capture_output=True, env=environment(target, isa)
    )
    inputs = [path.read_bytes() for path in smallest.iterdir()]
    write_corpus(target, inputs)
    print(f"{target}: {len(inputs)} inputs")


def environment(target, isa):
    found = {**os.environ, "TF_RNN_OPS_CPU_ISA": isa}
    if target == READERS:
        found["PYTHONPATH"] = f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{ATHERIS}"
    return found


class Clock:
    """Seconds since it was made, of the clock and of the CPU in child processes that have ended."""

    def __init__(self):
        self._began, self._used = time.monotonic(), self._cpu()

    @staticmethod
    def _cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def read(self):
        return {
            "seconds": round(time.monotonic() - self._began),
            "cpu_seconds": round(self._cpu() - self._used, 1),
        }


def fuzz(command, target, corpus, seconds, isa):
    """Returns the record of a run, which begins with what was found before."""
    found = corpus.with_name(f"{target}-findings")
    found.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    limits = ["-timeout=120", "-rss_limit_mb=4096"]
    commands = [[
        *command, f"-max_total_time={max(1, round(seconds))}", f"-max_len={LONGEST}", *limits,
        "-print_final_stats=1", f"-artifact_prefix={found}/", corpus,
    ]]  # fmt: skip
    if known := sorted(found.iterdir()):
        commands.insert(0, [*command, *limits, *known])
    for one in commands:
        done = subprocess.run(
            list(map(str, one)), capture_output=True, text=True, errors="replace", check=False,
            env=environment(target, isa),
        )  # fmt: skip
        if done.returncode:
            break
    lines = done.stderr.splitlines()
    last = next((m for m in map(_STATUS.match, reversed(lines)) if m), None)
    executions, edges, features, inputs = map(int, last.groups()) if last else (0, 0, 0, 0)
    if done.returncode:
        print(done.stderr[-6000:])
    return {
        "target": target, "isa": isa, **clock.read(), "executions": executions, "edges": edges,
        "features": features, "corpus": inputs, "finding": done.returncode != 0,
        "date": datetime.date.today().isoformat(),
    }  # fmt: skip


def summary(records):
    lines = []
    for target in TARGETS:
        own = [r for r in records if r["target"] == target]
        if own:
            executions, seconds = (
                sum(r[key] for r in own) for key in ("executions", "cpu_seconds")
            )
            lines.append(
                f"{target}: {executions} executions in {seconds / 3600:.2f} CPU-hours, "
                f"{max(r['edges'] for r in own)} edges, {sum(r['finding'] for r in own)} findings"
            )
    return lines


OPTIONS = {
    "seconds": (600.0, "the seconds of the run, which the targets share"),
    "slice": (300.0, "the seconds of one run of a target"),
    "targets": (list(TARGETS), "the targets to run", {"nargs": "+", "choices": TARGETS}),
    "folder": (native_build.ROOT / "build/fuzz", "the folder of the build and of the findings"),
    "isa": (
        "baseline",
        "the instruction set of the kernels",
        {"choices": native_build.isa_flags()},
    ),
    "compiler": ("clang++", "the compiler, a Clang"),
    "jobs": (None, "the number of jobs of the build, by default that of CPUs", {"type": int}),
    "minimise": (False, "write the committed corpora again, fuzz nothing"),
}


def main():
    args = parse_args("robustness.fuzz.run_fuzz", __doc__, OPTIONS)
    native = [target for target in args.targets if target != READERS]
    if native and not shutil.which(args.compiler):
        print(
            f"The targets in C++ are left out: {args.compiler} is not installed (apt-get install clang)."
        )
        native = []
    commands = build(args.folder, native, args.compiler, args.jobs, args.isa) if native else {}
    if READERS in args.targets:
        commands |= readers()
    left_out = len(commands) < len(set(args.targets))
    corpora = {target: args.folder / f"corpora/{target}" for target in commands}
    for target, corpus in corpora.items():
        unpack(target, corpus)
    if args.minimise:
        for target, corpus in corpora.items():
            minimise(commands[target], target, corpus, args.isa)
        return int(left_out)
    state = args.folder / "record.jsonl"
    end = time.monotonic() + args.seconds
    if not commands:
        return 1
    share = min(args.slice, args.seconds / len(commands))
    findings = False
    while time.monotonic() < end - 1 and not findings:
        for target, command in commands.items():
            record = fuzz(command, target, corpora[target], share, args.isa)
            findings |= record["finding"]
            print(json.dumps(record), flush=True)
            add_record(state, record)
    print("\n".join(summary(jsonl(state))))
    return int(findings or left_out)


if __name__ == "__main__":
    sys.exit(main())
