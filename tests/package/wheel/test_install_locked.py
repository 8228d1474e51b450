"""tools/install_locked.py: pip's configuration for uv, and pip where uv cannot install."""

import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "tools" / "install_locked.py"
# Each program prints its name, its arguments and the variables that begin with these letters.
RECORD = 'echo "{name} $*"; env | grep -E "^(UV_|SSL_|ALL_PROXY)" | sort; exit {status}'


@pytest.fixture
def environment(tmp_path):
    """Returns a function that makes an environment with a recording uv and runs the script in it."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages" / "pip"
    packages.mkdir()

    def run(settings, status=0):
        listed = "".join(f"{name}={value!r}\n" for name, value in settings.items())
        (packages / "__main__.py").write_text(
            "import sys\n"
            f"print({listed!r} if 'config' in sys.argv else 'pip ' + ' '.join(sys.argv[1:]))\n"
        )
        if status is None:
            (folder / "bin" / "uv").unlink(missing_ok=True)
        else:
            (folder / "bin" / "uv").write_text(
                "#!/bin/bash\n" + RECORD.format(name="uv", status=status)
            )
            (folder / "bin" / "uv").chmod(0o755)
        done = subprocess.run(
            [folder / "bin" / "python", SCRIPT, "-r", "lock.txt"],
            env={"PATH": str(pathlib.Path(shutil.which("bash")).parent)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout + done.stderr

    return run


def test_uv_gets_the_settings_of_pip(environment):
    said = environment(
        {
            "global.index-url": "https://a.example/simple",
            "global.extra-index-url": "https://b.example/simple\nhttps://c.example/simple",
            "global.cert": "/certificates.pem",
            "install.find-links": "/one /two",
            ":env:.index-url": "https://d.example/simple",
        }
    )
    for line in (
        "UV_DEFAULT_INDEX=https://d.example/simple",
        "UV_INDEX=https://b.example/simple https://c.example/simple",
        "UV_FIND_LINKS=/one,/two",
        "UV_INDEX_STRATEGY=unsafe-best-match",
        "SSL_CERT_FILE=/certificates.pem",
    ):
        assert line in said.splitlines()
    assert "--no-deps -r lock.txt" in said and "\npip " not in said


@pytest.mark.parametrize(
    ("settings", "status"),
    [({}, 1), ({}, None), ({"global.client-cert": "/mine.pem"}, 0)],
    ids=["uv fails", "no uv", "a setting that uv lacks"],
)
def test_pip_installs_otherwise(settings, status, environment):
    lines = environment(settings, status).splitlines()
    assert any(line.startswith("pip ") and line.endswith("-r lock.txt") for line in lines)
    assert any(line.startswith("uv pip install") for line in lines) == (status == 1)
