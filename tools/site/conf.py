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
html_static_path = ["static"]
html_css_files = ["tables.css"]
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


def _titles(app, docname, source):
    """Lets links whose text is the name of a page show its title, or that of the section."""
    source[0] = re.sub(r"\[[\w/.-]+\.md\]\((\S+\.md(?:#\S+)?)\)", r"[](\1)", source[0])


# Methods that Keras calls, not the users of a layer or cell.
_HOOKS = {
    *("add_weight", "build", "compute_mask", "compute_output_shape", "get_config", "inner_loop"),
    *("load_own_variables", "save_own_variables", "op_arguments", "op_name", "op_reason"),
    *("quantized_call", "rematerialized_call", "reset_states", "set_weights"),
}


def _skip(app, what, name, obj, skip, options):
    """Leaves out functions of Keras that are attributes of a class, hooks, and the properties of layers."""
    if isinstance(obj, property):
        module = obj.fget.__module__
        return True if module.startswith(("keras.", "tf_rnn_ops.keras.layers")) else None
    if what == "class" and name in _HOOKS:
        return True
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
    app.connect("source-read", _titles)
    app.connect("autodoc-process-docstring", _one_line, priority=400)
    app.connect("autodoc-process-docstring", _plain_underscores, priority=600)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip)
