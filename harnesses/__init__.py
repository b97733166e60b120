"""Harnesses as file trees: what they declare, how they are read, patched, compared, checked and proposed."""
