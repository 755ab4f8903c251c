"""Measurements: `python -m tests.bench`. Nothing here is run by the test suite."""
