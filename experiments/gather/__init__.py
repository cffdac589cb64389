"""Sakajiri et al. on real packets: the paper's models and studies beyond it, under Mininet."""
