"""Workflows: bounded, typed graphs of operators, as data; checked, hashed, compared, drawn and compiled here."""
