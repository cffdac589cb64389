"""Split connections for group communication (Emina et al., ICN 2011), in netsim."""
