"""Benchmarks: what the demo's parts do, in figures. `make bench`."""
