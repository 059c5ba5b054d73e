"""Mathematics with a Python tool: generated problems, GSM8K, MATH-500, AMC, AIME, or rows of one's own."""

from esagent.tasks.math.family import MathFamily

__all__ = ["MathFamily"]
