"""Installs packages of exact versions into the environment of this Python, without their dependencies.

    .venv/bin/python tools/install_locked.py -r tools/requirements/build.txt

The arguments are those of `pip install`. uv takes a third of the time of pip, but ignores pip's configuration,
so this script passes pip's settings to uv. pip installs the packages if uv is missing, fails, or lacks a setting.
With --lock the other arguments are for `uv pip compile`, which prints the versions for Python 3.10 and newer.
"""

import ast
import os
import pathlib
import subprocess
import sys

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
# Settings of pip, and the variables of uv with the same meaning.
VARIABLES = {
    "cert": "SSL_CERT_FILE",
    "constraint": "UV_CONSTRAINT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "no-index": "UV_NO_INDEX",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "trusted-host": "UV_INSECURE_HOST",
}
# Locked versions are those of the main index, without what this machine adds or caps.
LOCAL = ("constraint", "extra-index-url", "find-links")
# Settings that change nothing about which files are installed.
IGNORED = {
    "break-system-packages",
    "cache-dir",
    "disable-pip-version-check",
    "no-cache-dir",
    "no-color",
    "no-input",
    "no-python-version-warning",
    "no-warn-script-location",
    "progress-bar",
    "quiet",
    "require-virtualenv",
    "retries",
    "root-user-action",
    "verbose",
}


def pip_settings():
    """{name: value} of pip's configuration. The environment overrides the files."""
    run = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True)
    sections = {"global": {}, "install": {}, ":env:": {}}
    for line in run.stdout.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in sections:
            sections[section][key] = ast.literal_eval(value)
    return sections["global"] | sections["install"] | sections[":env:"]


def uv_environment(settings):
    """The variables for uv; None if pip has a setting that uv lacks."""
    # pip prefers no index to another.
    environment = {"UV_INDEX_STRATEGY": "unsafe-best-match", **os.environ}
    for name, value in settings.items():
        if name in VARIABLES:
            separator = "," if name == "find-links" else " "
            environment[VARIABLES[name]] = separator.join(value.split())
        elif name not in IGNORED:
            print(f"uv has no setting such as pip's {name}: pip installs", file=sys.stderr)
            return None
    return environment


def run_uv(settings, *arguments):
    """The exit status of `uv pip`; 1 if uv is missing or lacks a setting."""
    uv = pathlib.Path(sys.prefix) / "bin" / "uv"
    environment = uv_environment(settings) if uv.is_file() else None
    if environment is None:
        return 1
    return subprocess.run([uv, "pip", *arguments], env=environment).returncode


def lock(arguments):
    settings = {name: value for name, value in pip_settings().items() if name not in LOCAL}
    options = ["--quiet", "--universal", "--python-version=3.10", "--upgrade"]
    options += ["--no-header", "--no-annotate", "--no-emit-index-url"]
    return run_uv(settings, "compile", *options, *arguments)


def install(arguments):
    options = ["--quiet", "--no-deps"]
    for_uv = [f"--python={sys.executable}", "--compile-bytecode", *options, *arguments]
    if run_uv(pip_settings(), "install", *for_uv) == 0:
        return 0
    return subprocess.run([*PIP, "install", "--no-input", *options, *arguments]).returncode


if __name__ == "__main__":
    if sys.argv[1:2] == ["--lock"]:
        sys.exit(lock(sys.argv[2:]))
    sys.exit(install(sys.argv[1:]))
