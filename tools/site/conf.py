"""The settings of Sphinx for the site of `make docs`; see build.sh."""

import inspect
import pathlib
import re
import runpy

_ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "tf_rnn_ops"
release = runpy.run_path(str(_ROOT / "tf_rnn_ops/native/versions.py"))["VERSION"]
copyright = "the tf_rnn_ops authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md"]  # index.md includes it
html_theme = "furo"
html_title = f"tf_rnn_ops {release}"
html_show_sourcelink = False
myst_heading_anchors = 4  # links to headings, as on a site for repositories
autodoc_default_options = {"members": True, "member-order": "bysource"}
python_maximum_signature_line_length = 90
napoleon_use_ivar = True


def _signature(app, what, name, obj, options, signature, returns):
    """Takes the arguments of a class from its __init__, since Keras's layers also have a __new__."""
    if what != "class":
        return None
    first, *others = inspect.signature(obj.__init__).parameters.values()
    return str(inspect.Signature(others)), None


def _skip(app, what, name, obj, skip, options):
    """Leaves out functions of Keras that are attributes of a class."""
    module = getattr(obj, "__module__", None)
    return True if module and not module.startswith("tf_rnn_ops") else None


def _one_line(app, what, name, obj, options, lines):
    """Joins the names of arguments with one description into one line, as napoleon needs."""
    text = re.sub(r"(?m)^( +[\w, ]+,)\n +([\w, ]+: )", r"\1 \2", "\n".join(lines))
    lines[:] = text.split("\n")


def _plain_underscores(app, what, name, obj, options, lines):
    """Keeps names that end in an underscore, such as from_*, from becoming links."""
    lines[:] = [re.sub(r"\b(\w+)_(?=[^\w\s:])", r"\1\\_", line) for line in lines]


def setup(app):
    """Registers the functions above."""
    app.connect("autodoc-process-docstring", _one_line, priority=400)
    app.connect("autodoc-process-docstring", _plain_underscores, priority=600)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip)
