"""Networks as values: topologies with their links, read from YAML; quantities with units."""
