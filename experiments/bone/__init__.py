"""Files to caches in rounds: hub and rims on real packets through P4 switches, and the same in netsim."""
