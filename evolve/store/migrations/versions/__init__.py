"""One module per schema step."""
