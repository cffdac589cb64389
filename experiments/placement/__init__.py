"""Where to put split agents: cost against their number, and how near the method comes to the best."""
