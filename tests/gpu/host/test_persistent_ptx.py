"""The archive of the persistent kernels is what the source gives, and ptxas takes every kernel."""

import concurrent.futures
import os
import re

import pytest

pytestmark = pytest.mark.thorough

# Ampere, Hopper, Blackwell.
ARCHITECTURES = ["80", "90", "120"]
# Bytes of registers that ptxas may move to memory, where the weights fill almost all registers.
LIMITS = {
    f"Forward_{cell}_{operand}_1024_64_true": 16
    for cell in ("Lstm", "Gru")
    for operand in ("BFloat16", "Half")
}
LIMITS_OF_FLOAT32 = {"80": 116, "90": 80, "120": 168}


@pytest.fixture(scope="module")
def kernels(generator):
    """{name: PTX} of the sources."""
    return {
        "_".join(row): generator.compile_persistent(row) for row in generator.persistent_kernels()
    }


def test_the_archive_is_up_to_date(generator, kernels):
    wanted = [generator.with_relative_registers(text) for text in kernels.values()]
    assert generator.texts_of(generator.ARCHIVE.read_bytes()) == wanted, "run tools/generate_ptx.py"
    assert generator.ARCHIVE_NAME.read_text() == generator.name_header(wanted)


def test_the_library_grows_by_less_than_3_mb(generator):
    assert generator.ARCHIVE.stat().st_size < 3 << 20


def test_each_module_has_its_kernel_for_old_drivers(kernels):
    assert len(kernels) > 100
    for name, text in kernels.items():
        assert re.findall(r"\.visible \.entry (\w+)\(", text) == [name]
        assert text.startswith(".version 7.0\n.target sm_80\n")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_ptxas_accepts_each(architecture, kernels, spilled):
    def stores(item):
        name, text = item
        (count,) = spilled(text, architecture, name)
        return name, count

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(pool.map(stores, kernels.items()))
    assert found.keys() == kernels.keys()
    too_many = {
        name: count
        for name, count in found.items()
        if count > (LIMITS_OF_FLOAT32[architecture] if "_Float32_" in name else LIMITS.get(name, 0))
    }
    assert not too_many
