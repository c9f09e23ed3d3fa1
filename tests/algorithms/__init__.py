"""Algorithms as people write them in NumPy, to be differentiated unchanged; `tests/test_algorithms.py` runs them."""
