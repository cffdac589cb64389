"""The network as it is at a moment, again and again: for the page, for recordings, and from simulations."""
