"""`groupflow experiment edges`: an edge of a tree over TCP, the group transport and datagrams."""
