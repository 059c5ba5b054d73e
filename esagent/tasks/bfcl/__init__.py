"""Function calling, from the data of the Berkeley Function Calling Leaderboard (docs/tasks-bfcl.md)."""

from esagent.tasks.bfcl.family import BfclFamily

__all__ = ["BfclFamily"]
