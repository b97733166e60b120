"""Scorers, the suite that runs them, and the gate: everything that turns runs into numbers and numbers into verdicts."""
