"""The lists of the fuzz targets in C++: none is left out of `make fuzz` or of `make test`."""

from robustness.fuzz import run_fuzz

REPLAY = run_fuzz.HERE.parents[1] / "cc/fuzz/BUILD"


def test_every_target_is_listed():
    files = (run_fuzz.HERE / "native").glob("*_target.cc")
    targets = {file.name.removesuffix("_target.cc") for file in files}
    assert targets == set(run_fuzz.NATIVE)
    listed = REPLAY.read_text()
    assert [target for target in targets if f'"{target}"' not in listed] == []
