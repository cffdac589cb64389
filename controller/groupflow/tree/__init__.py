"""A clustered tree: its dispatchers as a service, and the Python side of its hosts and programs."""
