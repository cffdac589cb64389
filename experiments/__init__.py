"""Experiments: each is a folder with its scenario and its report."""
