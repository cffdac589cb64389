"""Parts that experiments on real networks share."""
