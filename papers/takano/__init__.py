"""Takano et al., "Mutual Complementarity between Diffusion-Type Flow Control and TCP" (2006), in netsim."""
