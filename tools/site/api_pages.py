"""Writes the pages of the API reference: python tools/site/api_pages.py FOLDER

There is a page for each module of docs/api.md, and for tf_rnn_ops.keras one each for layers, cells and tools.
"""

import pathlib
import re
import sys

import keras

import tf_rnn_ops.keras

ROOT = pathlib.Path(__file__).resolve().parents[2]


def kind(name):
    """The page of a name of tf_rnn_ops.keras."""
    thing = getattr(tf_rnn_ops.keras, name)
    if not (isinstance(thing, type) and issubclass(thing, keras.layers.Layer)):
        return "tools"
    return "cells" if name.endswith("Cell") else "layers"


def keras_pages():
    """{the end of a page's name: its content}."""
    pages = {}
    for each in ("layers", "tools", "cells"):
        title = f"tf_rnn_ops.keras: {each}"
        lines = [title, "=" * len(title), ""]
        for name in filter(lambda name: kind(name) == each, tf_rnn_ops.keras.__all__):
            directive = "class" if isinstance(getattr(tf_rnn_ops.keras, name), type) else "function"
            lines += [f".. auto{directive}:: tf_rnn_ops.keras.{name}", ""]
        pages[f"keras_{each}"] = "\n".join(lines)
    return pages


def main():
    folder = pathlib.Path(sys.argv[1])
    modules = re.findall(r"^## `(tf_rnn_ops.*)`$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    for module in modules:
        if module == "tf_rnn_ops.keras":
            for end, content in keras_pages().items():
                (folder / f"tf_rnn_ops.{end}.rst").write_text(content)
            continue
        title = f"{module}\n{'=' * len(module)}\n\n"
        (folder / f"{module}.rst").write_text(f"{title}.. automodule:: {module}\n")


if __name__ == "__main__":
    main()
