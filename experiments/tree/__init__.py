"""`groupflow experiment tree`: a clustered tree of hosts under Mininet, of which some are killed."""
