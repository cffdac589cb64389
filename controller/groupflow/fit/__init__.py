"""How a P4 program for Tofino fits its chip: a report of its compiler's logs, as numbers and as a picture."""
