"""Numpy float64 references, written from the equations and from nothing else (see README.md)."""
