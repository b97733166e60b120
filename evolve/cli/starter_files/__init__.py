"""Files that `evolve init` writes."""
