"""`groupflow experiment nats`: twenty subscribers, by a clustered tree and by nats-server."""
