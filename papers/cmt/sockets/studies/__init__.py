"""Studies of the parameters that the paper leaves open."""
