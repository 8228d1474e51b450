"""unreachable.txt lists lines of the present sources."""

import collections

from robustness.coverage import run_coverage


def test_every_place_exists():
    assert run_coverage.gone(run_coverage.unreachable()) == []


def test_every_place_has_a_reason():
    lines = run_coverage.UNREACHABLE.read_text().splitlines()
    entries = [line.split("\t") for line in lines if line and not line.startswith("#")]
    assert entries and all(len(entry) == 3 and entry[2].strip() for entry in entries)


def test_missing_places_are_found():
    text = run_coverage.gone(collections.Counter({("cc/core/status.h", "no such line"): 1}))
    file = run_coverage.gone(collections.Counter({("cc/core/no_such_file.h", "}"): 1}))
    assert [place[:3] for place in text + file] == [
        ("cc/core/status.h", 0, "no such line"),
        ("cc/core/no_such_file.h", 0, "}"),
    ]
