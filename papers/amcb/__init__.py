"""Adaptive Multicasting Cache Bone: round multicast over a satellite link, in netsim."""
