"""A sweep: a scenario with many values of its parameters and many seeds, in netsim or under Mininet."""
