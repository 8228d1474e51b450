"""The memory that the C library keeps."""

import ctypes
import sys


def trim() -> None:
    """Returns freed memory to the system. Does nothing with a C library that lacks malloc_trim, which glibc has."""
    if sys.platform.startswith("linux"):
        function = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if function is not None:
            function(ctypes.c_size_t(0))
