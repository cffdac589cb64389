"""Sakajiri, Tanigawa and Tode: adaptive QoS control on an information gathering server, in netsim."""
