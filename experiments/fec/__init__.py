"""Latency of a gathered stream with and without erasure coding over its connections."""
