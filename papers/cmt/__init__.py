"""A Scalable Middleware Solution for Fast Data Transport, in netsim (docs/cmt.md)."""
