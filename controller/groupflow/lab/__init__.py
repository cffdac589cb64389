"""A topology as a running network: Mininet's classes, supervised processes, health and link counters."""
