"""Hosts with several children: sent to at the same time, and one after the other."""
