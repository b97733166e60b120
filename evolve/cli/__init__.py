"""The command line: thin commands over the rooms below. Everything heavy is imported inside the commands."""
