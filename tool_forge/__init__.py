"""Tools: what they promise, and whether a call keeps to the promise."""
