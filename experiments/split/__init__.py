"""Split connections with kernel TCP: one point of the ICN 2011 reproduction under Mininet, and in netsim."""
