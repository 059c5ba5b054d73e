"""The toolbox family: short questions that need one to three tool calls."""

from esagent.tasks.toolbox.family import ToolboxFamily

__all__ = ["ToolboxFamily"]
