"""Sakajiri et al. on real packets: the paper's models and what goes beyond it, under Mininet."""
