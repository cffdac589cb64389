"""One file to a whole group over Fig. 5 of the split connection paper, measured, and compared with TCP."""
