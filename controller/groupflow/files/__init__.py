"""Readers of YAML files, and of the files of other tools."""
