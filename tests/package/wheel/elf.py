"""Functions of the packaging tests that read a shared object, through binutils."""

import re
import subprocess


def _run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_symbols(path):
    """Names that the dynamic linker would find in it."""
    lines = _run("nm", "--dynamic", "--defined-only", "--format=posix", str(path)).splitlines()
    return {line.split()[0] for line in lines}


def dynamic_symbols(path):
    """Names that it exports or takes from other libraries, without versions."""
    lines = _run("nm", "--dynamic", "--format=posix", str(path)).splitlines()
    return {line.split()[0].split("@")[0] for line in lines}


def needed(path):
    """Names of the libraries it is linked to."""
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", _run("readelf", "--dynamic", "-W", str(path))))


def needed_versions(path):
    """{(name, version): symbols} of what it takes from other libraries, such as ('GLIBC', (2, 27))."""
    found = {}
    for line in _run(
        "nm", "--dynamic", "--undefined-only", "--format=posix", str(path)
    ).splitlines():
        match = re.match(r"(\S+?)@@?([A-Z]+)_([0-9.]+)\b", line)
        if match:
            symbol, name, version = match.groups()
            found.setdefault((name, _numbers(version)), set()).add(symbol)
    return found


def _numbers(version):
    return tuple(map(int, version.split(".")))


def run_paths(path):
    """Its RPATH and RUNPATH entries."""
    dynamic = _run("readelf", "--dynamic", "-W", str(path))
    return re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)


def section_sizes(path):
    """Size in bytes by section name."""
    rows = re.findall(
        r"^\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)",
        _run("readelf", "--sections", "-W", str(path)),
        flags=re.MULTILINE,
    )
    return {name: int(size, 16) for name, size in rows}


def vector_registers(path):
    """Counts of instructions that name an xmm, a ymm or a zmm register."""
    counts = dict.fromkeys(("xmm", "ymm", "zmm"), 0)
    command = ["objdump", "--disassemble", "--no-show-raw-insn", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            for name in counts:
                counts[name] += f"%{name}" in line
    assert process.returncode == 0, command
    return counts


def instructions(path, pattern):
    """The disassembled lines whose mnemonic matches."""
    mnemonic = re.compile(rf"^\s*[0-9a-f]+:\s+{pattern}\b")
    text = _run("objdump", "--disassemble", "--no-show-raw-insn", str(path))
    return [line for line in text.splitlines() if mnemonic.match(line)]
