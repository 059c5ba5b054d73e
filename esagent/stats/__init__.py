"""Inference over runs: intervals and areas under learning curves. Works on plain numbers."""
