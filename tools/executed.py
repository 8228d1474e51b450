"""Prints which kernels a test run executed, natively or emulated: tools/executed.py LOG...

The C++ tests of the kernels print a line for each code that they ran (tests/cc/cpu/kernel_tables.h). Exits
with 1 if a code of this processor was not executed at all.

Options: --neon, if the logs are of tests for aarch64.
"""

import argparse
import collections
import pathlib
import platform
import re
import sys

# The level of the kernels, and the unit that multiplies.
X86_64 = {
    "baseline": "SSE2",
    "baseline int8": "SSE2, products of 16-bit integers",
    "avx2": "AVX2 and FMA",
    "avx2 int8": "AVX2, products of bytes",
    "avx2 vnni": "AVX-VNNI",
    "avx512": "AVX-512",
    "avx512 int8": "AVX-512, products of 16-bit integers",
    "avx512 vnni": "AVX512_VNNI",
    "avx512 bf16": "AVX512_BF16",
    "avx512 amx": "AMX_BF16",
}
AARCH64 = {
    "neon": "NEON",
    "neon int8": "NEON, products of bytes",
    "neon dot": "NEON with dot product",
}

LINE = re.compile(
    r"\[executed\] (?P<code>[a-z0-9 ]+): (?P<how>native|emulated), (?P<tests>\d+) tests"
)


def executed(logs):
    """{code: {"native" or "emulated": number of tests}} of the text of logs."""
    found = collections.defaultdict(collections.Counter)
    for text in logs:
        for line in LINE.finditer(text):
            found[line["code"]][line["how"]] += int(line["tests"])
    return found


def table(codes, found, emulator=None):
    """The lines of the table, and the codes that nothing executed.

    Args:
        codes: {code: instructions}.
        found: As of `executed`.
        emulator: The program that ran the tests, such as "qemu"; the code is native in it.
    """
    lines, missing = [], []
    for code, instructions in codes.items():
        of = found.get(code, {})
        how = " and ".join(sorted(emulator or h for h in of)) or "NOT EXECUTED"
        tests = " and ".join(str(of[h]) for h in sorted(of)) or "0"
        lines.append(f"{code:14} {instructions:37} {how:20} {tests:>9}")
        if not of:
            missing.append(code)
    return [f"{'kernels':14} {'instructions':37} {'executed':20} {'tests':>9}", *lines], missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neon", action="store_true", help="the tests ran under qemu, for aarch64")
    parser.add_argument("logs", nargs="+", type=pathlib.Path, help="logs of tests, or folders")
    args = parser.parse_args()
    files = [f for log in args.logs for f in ([log] if log.is_file() else log.rglob("test.log"))]
    found = executed(f.read_text(errors="replace") for f in files)
    on_arm = args.neon or platform.machine() == "aarch64"
    codes = AARCH64 if on_arm else X86_64
    if on_arm and not args.neon:
        # A machine has one of the two kernels of int8 weights.
        codes = {code: codes[code] for code in codes if code == "neon" or code in found}
    lines, missing = table(codes, found, "qemu" if args.neon else None)
    print("\n".join(lines))
    if missing:
        sys.exit(f"no test executed the kernels: {', '.join(missing)}")


if __name__ == "__main__":
    main()
