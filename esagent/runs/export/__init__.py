"""A state of a run as files that other programs load."""
