"""Validation: the simulator's TCP against ns-2. `make validate`."""
