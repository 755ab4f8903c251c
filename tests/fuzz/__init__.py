"""The slow tier: see docs/reliability.md for how to run it."""
