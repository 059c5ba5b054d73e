"""The qa family: questions that are answered by searching articles."""

from esagent.tasks.qa.family import QaFamily
from esagent.tasks.qa.file import QaFileFamily

__all__ = ["QaFamily", "QaFileFamily"]
