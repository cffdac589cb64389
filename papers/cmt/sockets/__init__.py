"""Tables 1 and 2 and figure 2: throughput over socket buffer and number of connections."""
