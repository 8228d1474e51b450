"""The options of the tools in tests/robustness, from tables."""

import argparse


def parse_args(module, doc, options):
    """The arguments of `python -m MODULE`.

    Args:
        module: The name of the module.
        doc: The description.
        options: {name: (default, help) or (default, help, more arguments of add_argument)}. The type is
            that of the default, and an option of the default False has no value.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=doc)
    for name, (default, text, *more) in options.items():
        settings = dict(*more)
        if default is False:
            settings["action"] = "store_true"
        else:
            settings["default"] = default
            text += "" if default is None else " (default: %(default)s)"
            if not isinstance(default, (list, type(None))):
                settings.setdefault("type", type(default))
        parser.add_argument(f"--{name}", help=text, **settings)
    return parser.parse_args()
