"""Studies of parameters that the paper leaves open, and of questions beyond it: a study a file, and those of
Fig. 7 in one."""
