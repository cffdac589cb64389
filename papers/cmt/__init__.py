"""A Scalable Middleware Solution for Fast Data Transport, in netsim (docs/results/cmt.md)."""
