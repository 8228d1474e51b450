"""Where the example is: its modules are imported by their own names."""

import pathlib
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "serving_http"
if str(EXAMPLE) not in sys.path:
    sys.path.insert(0, str(EXAMPLE))
