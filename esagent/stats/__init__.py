"""Inference over runs: arms, pairs, exact tests, intervals, areas under learning curves. Reads run directories only."""
