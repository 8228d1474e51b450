"""Waiting for something that another process or thread does, on a machine however busy."""

import time

# Minutes: nothing that a test waits for takes more than seconds on a machine that does nothing else.
PATIENCE = 240


def wait_for(condition, pause=0.05):
    """Whether a condition holds within PATIENCE seconds; it is asked every `pause` seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True
