"""Runs one harness tree on one input and returns its trace."""
