"""Random faults on real processes, for as long as one likes. Not part of `make test`: `make soak`."""
