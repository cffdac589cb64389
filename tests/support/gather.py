"""A list of clients for tests of gathering."""

GOOD = """
link: 10mbit
buffer: 100000 bytes
clients:
  - {name: cam1, target: 1mbit, priority: 1, token: c0ffee}
  - {name: cam2, target: 500kbit, minimum: 100kbit, token: decade}
"""
