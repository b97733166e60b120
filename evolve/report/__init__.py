"""Words and tables about what happened. Reads only."""
