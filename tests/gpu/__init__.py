"""Tests of the GPU half; see ../README.md."""
