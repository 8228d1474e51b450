"""The BUILD files say nothing that a current Bazel rejects, although Bazel 4 is what builds them.

By the release notes of Bazel 8, the next one has no native rules for C++ and no native repositories.
"""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Other versions of Bazel do not load the replacements of the repositories of Bazel 4.
MOCKS = "third_party/bazel/rules_"


def build_files():
    """The names of the files that Bazel reads."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    pattern = re.compile(r"(^|/)(BUILD|WORKSPACE|\w+\.bzl|\w+\.BUILD\.tpl)$")
    return [name for name in names if pattern.search(name) and not name.startswith(MOCKS)]


def rejected(text):
    """The lines that a current Bazel rejects."""
    code = re.sub(r'"""(.|\n)*?"""|#.*', "", text)
    rule = r"(?:cc|java|py|sh)_\w+|(?:new_)?local_repository"
    found = re.findall(rf"native\.(?:{rule})", code)
    loaded = set(re.findall(r'"(\w+)"', " ".join(re.findall(r"^load\((.*)\)$", code, re.M))))
    rules = set(re.findall(rf"(?<![\w.])({rule})\(", code))
    return found + sorted(rules - loaded)


@pytest.mark.parametrize("name", build_files())
def test_every_rule_is_loaded(name):
    assert rejected((ROOT / name).read_text()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('cc_library(name = "a")', ["cc_library"]),
        ('load("@rules_cc//cc:defs.bzl", "cc_test")\ncc_test(name = "a")', []),
        ('native.cc_binary(name = "a")', ["native.cc_binary"]),
        ("native.genrule(name = native.package_name())", []),
        ('local_repository(name = "a")', ["local_repository"]),
    ],
)
def test_what_is_rejected(text, found):
    assert rejected(text) == found


def test_bazelversion_begins_with_the_version():
    """Bazelisk reads the first line only; the reason is in the others."""
    first, *reason = (ROOT / ".bazelversion").read_text().splitlines()
    assert re.fullmatch(r"4\.\d+\.\d+", first)
    assert reason and all(line.startswith("# ") for line in reason)
