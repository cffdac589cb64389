"""Studies of parameters that the paper leaves open, and of questions beyond it: a study a file."""
