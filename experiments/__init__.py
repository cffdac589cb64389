"""Experiments: each a folder with its scenario and its report."""
