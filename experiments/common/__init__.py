"""What experiments on real networks share."""
