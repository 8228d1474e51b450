"""Models whose states are inputs and outputs."""
