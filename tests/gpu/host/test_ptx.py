"""The PTX in the library is what its source gives, and ptxas takes it for every architecture."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.thorough

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Pascal, Volta, Turing, Ampere, Ada, Hopper, Blackwell.
ARCHITECTURES = ["60", "61", "70", "75", "80", "86", "89", "90", "100", "120"]


@pytest.fixture(scope="module", params=["kernels", "layer_kernels"])
def module(request):
    return request.param


@pytest.fixture(scope="module")
def ptx(generator, module):
    return generator.compile_ptx(module)


def test_the_checked_in_text_is_up_to_date(generator, ptx, module):
    assert generator.target(module).read_text() == ptx, "run tools/generate_ptx.py"


def _family(macro):
    """The kernels of a macro of the list, without their suffixes, and the text of the list."""
    text = (ROOT / "cc/gpu/kernels/kernel_list.h").read_text()
    body = re.search(rf"#define {macro}\((?:.*\\\n)*.*", text)[0]
    return set(re.findall(r"K\((\w+_)##suffix,", body)), text


def _kernels():
    block, text = _family("RNN_OPS_BLOCK_LSTM_KERNELS")
    copy, _ = _family("RNN_OPS_COPY_KERNELS")
    wanted = {name + suffix for name in block for suffix in ("f32", "f64", "f16", "bf16")}
    wanted |= {name + suffix for name in copy for suffix in ("b16", "b32", "b64")}
    wanted |= set(re.findall(r"K\((convert_\w+),", text))
    assert len(wanted) == 32
    return wanted


def _layer_kernels():
    family, _ = _family("RNN_OPS_LAYER_FAMILY")
    assert len(family) == 23
    return {name + suffix for name in family for suffix in ("f32", "f64")}


def test_every_kernel_has_an_entry(ptx, module):
    wanted = _kernels() if module == "kernels" else _layer_kernels()
    assert set(re.findall(r"\.visible \.entry (\w+)\(", ptx)) == wanted


def test_the_version_is_one_that_old_drivers_take(ptx):
    assert ptx.startswith(".version 6.3\n.target sm_60\n")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_ptxas_accepts_it(architecture, ptx, spilled):
    # Nothing in local memory: a spill would be a loss of speed that nobody sees.
    assert set(spilled(ptx, architecture)) == {0}
