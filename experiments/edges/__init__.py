"""`groupflow experiment edges`: an edge of a tree over TCP, QUIC and datagrams."""
