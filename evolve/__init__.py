"""evolve: a self-evolving agent orchestration engine with an honest gate, honest books and a portfolio of versions.

The package is the ground floor (`core`, `store`, `books`, …) and the roof (`campaign`, `cli`) of the house; the four
rooms in between (`harnesses`, `workflows`, `tool_forge`, `portfolios`) are the things that evolve.
"""

__version__ = "0.2.0"
