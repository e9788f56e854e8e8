"""Random calls of operators, for `tools/facts/runtime_values.py`."""
