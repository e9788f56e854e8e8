"""Random calls of operators, for `tools/runtime_values.py`."""
