"""Replaying a whole campaign from its recording: nothing is asked; the result is the same, or the difference named."""
