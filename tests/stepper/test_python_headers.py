"""cc/step/python_min.h: the same sizes, offsets, constants and types as Python.h."""

import pathlib
import re
import shutil
import subprocess
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MINIMUM = ROOT / "cc" / "step" / "python_min.h"
# Names that python_min.h writes in a simpler way. PyThreadState is a pointer that is only returned.
SAME_TYPES = {
    r"\b_object\b": "PyObject",
    r"\b_typeobject\b": "PyTypeObject",
    r"\bbufferinfo\b": "Py_buffer",
    r"\b_ts\*": "void*",
}
STRUCTS = ("PyObject", "PyMethodDef", "PyModuleDef", "Py_buffer")
PROGRAM = """
#include <cxxabi.h>
#include <cstddef>
#include <cstdio>
#include <typeinfo>
#ifdef OURS
#include "cc/step/python_min.h"
#define BASE(field) field
#else
#include <Python.h>
#define BASE(field) m_base.field
#define PyCFunctionFast _PyCFunctionFast
#endif
#define SHOW_NUMBER(number) std::printf("%s = %lld\\n", #number, (long long)(number));
#define SHOW_TYPE(...) std::printf( \\
    "%s\\n", abi::__cxa_demangle(typeid(__VA_ARGS__).name(), nullptr, nullptr, nullptr));
int main() {
"""


def _structs(header):
    """{struct: names of its fields}."""
    found = re.findall(r"^struct (\w+) \{\n(.*?)^\};", header, re.MULTILINE | re.DOTALL)
    fields = {}
    for name, body in found:
        lines = [line.strip() for line in body.splitlines()]
        fields[name] = [
            re.search(r"\(\*(\w+)\)\(|(\w+);$", line).group(1, 2) for line in lines if line
        ]
    return {name: [a or b for a, b in pairs] for name, pairs in fields.items()}


def _program(header):
    lines = []
    for struct, fields in _structs(header).items():
        lines.append(f"SHOW_NUMBER(sizeof({struct}))")
        of_base = ("m_init", "m_index", "m_copy")
        for field in fields:
            place = "BASE(%s)" % field if field in (*of_base, "ob_base") else field
            lines.append(f"SHOW_NUMBER(offsetof({struct}, {place}))")
    constants = re.findall(r"\b((?:METH|PyBUF|PYTHON)_\w+) = ", header)
    lines += [f'std::printf("%s = %d\\n", "{name}", int({name}));' for name in constants]
    functions = re.findall(
        r"^[\w* ]+?\b(Py\w+)\([^()]*(?:\([^()]*\)[^()]*)*\);", header, re.MULTILINE
    )
    variables = re.findall(r"^extern PyObject\* (\w+);", header, re.MULTILINE)
    lines += [f"SHOW_TYPE(decltype({name}))" for name in functions + variables]
    lines += ["SHOW_TYPE(PyCFunctionFast)", "SHOW_TYPE(Py_ssize_t)"]
    assert len(functions) > 15 and len(variables) > 3 and len(constants) > 5
    return PROGRAM + "\n".join(lines) + "\n}\n"


def _facts(folder, source, *options):
    path, program = folder / "facts.cc", folder / "facts"
    path.write_text(source)
    command = ["g++", "-std=c++17", "-O1", "-w", *map(str, options), str(path), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    facts = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    for ours, same in SAME_TYPES.items():
        facts = re.sub(ours, same, facts)
    return re.sub(r"BASE\((\w+)\)|m_base\.(\w+)", r"\1\2", facts).splitlines()


def test_the_layouts_are_those_of_python(tmp_path):
    headers = pathlib.Path(sysconfig.get_paths()["include"])
    if not (headers / "Python.h").exists() or shutil.which("g++") is None:
        pytest.skip("no headers of Python or no compiler")
    header = MINIMUM.read_text()
    assert set(_structs(header)) == set(STRUCTS)
    source = _program(header)
    ours = _facts(tmp_path, source, "-DOURS", f"-I{ROOT}")
    assert ours == _facts(tmp_path, source, f"-I{headers}")
