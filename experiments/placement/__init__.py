"""Placement of split agents: cost against their number, and the distance of the method from the best."""
