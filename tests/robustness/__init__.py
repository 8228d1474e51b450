"""Seeded faults, random cases and failures that the tests must withstand; see ../README.md."""
