"""Imports TensorFlow, if there is one, before the modules that need it.

WHY: the registration, which runs at the end of that import, imports some of these modules, and none of them may be
half imported then.
"""

import contextlib

with contextlib.suppress(Exception):  # a broken installation raises errors of any kind
    import tensorflow  # noqa: F401
