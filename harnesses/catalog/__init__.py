"""Proposals that need no model: one file per operator family, and the order in which they are tried."""
