"""Two pages name every environment variable of the project, and no other."""

import re
import subprocess

import pages

PAGES = ("environment.md", "building.md")
# How C++, Python, the shell and make name a variable that they read or set.
READ = re.compile(
    r"(?:getenv\(|environ\.get\(|environ\[|os\.environ,|\.env =|env\[)\s*\"(TF_RNN_OPS_\w+)\""
    r"|\"(TF_RNN_OPS_\w+)\":"
    r"|\.env = \"(TF_RNN_OPS_\w+)\""
    r"|\$\{?(TF_RNN_OPS_\w+)"
    r"|\b(TF_RNN_OPS_\w+)="
)


def _names(text):
    return {name for found in READ.findall(text) for name in found if name}


def test_the_pattern_finds_each_form():
    forms = [
        'std::getenv("TF_RNN_OPS_A")',
        'os.environ.get("TF_RNN_OPS_A")',
        'os.environ["TF_RNN_OPS_A"]',
        '{"TF_RNN_OPS_A": device}',
        "TF_RNN_OPS_A=1 make",
        "${TF_RNN_OPS_A:-}",
    ]
    for form in forms:
        assert _names(form) == {"TF_RNN_OPS_A"}, form
    assert not _names("#ifndef TF_RNN_OPS_CC_CORE_TEAM_H_")


def test_every_variable_is_in_a_table():
    listed = subprocess.run(
        ["git", "ls-files", "*.cc", "*.h", "*.py", "*.sh", "*.mk", "Makefile", ".ci/run"],
        cwd=pages.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = [name for name in listed.stdout.split() if not name.startswith("tests/package/docs/")]
    assert files
    used = set().union(*(_names((pages.ROOT / name).read_text()) for name in files))
    text = "".join((pages.ROOT / "docs" / page).read_text() for page in PAGES)
    assert used == set(re.findall(r"`(TF_RNN_OPS_\w+)`", text))
