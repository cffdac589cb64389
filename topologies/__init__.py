"""Networks as YAML files, and the Mininet classes that bring them to life."""
