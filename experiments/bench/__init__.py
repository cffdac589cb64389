"""Benchmarks of the parts that the demo and the experiments use. `make bench`."""
