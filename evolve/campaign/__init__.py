"""One resumable run of the loops under one budget: config, graph, loops, run and resume."""
