"""Studies on the synthetic environment: many runs at once, and what theory says of a step (docs/synthetic.md)."""
