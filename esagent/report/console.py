"""The agreed names of what a run shows on a terminal: live progress on stderr, the closing table on stdout."""

from esagent.report.progress import Progress
from esagent.report.summary import print_summary

__all__ = ["Progress", "print_summary"]
