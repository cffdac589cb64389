"""A clustered tree: its dispatchers as a service, and what hosts and programs need of it."""
