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


class Code:
    """The disassembled instructions of a library.

    Attributes:
        registers: How many instructions name an xmm, a ymm or a zmm register.
    """

    def __init__(self, path):
        text = _run("objdump", "--disassemble", "--no-show-raw-insn", str(path))
        self._lines = text.splitlines()
        kinds = ("xmm", "ymm", "zmm")
        self.registers = {kind: sum(f"%{kind}" in line for line in self._lines) for kind in kinds}

    def instructions(self, pattern):
        """The lines whose mnemonic matches."""
        mnemonic = re.compile(rf"^\s*[0-9a-f]+:\s+{pattern}\b")
        return [line for line in self._lines if mnemonic.match(line)]
