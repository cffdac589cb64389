"""Diffusion-type flow control with kernel TCP: a line of six switches under Mininet, and in netsim."""
