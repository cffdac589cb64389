"""Studies beyond the paper, a file each."""
