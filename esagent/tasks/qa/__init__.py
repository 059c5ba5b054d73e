"""The qa family: questions that are answered by searching articles."""

from esagent.tasks.qa.family import QaFamily

__all__ = ["QaFamily"]
