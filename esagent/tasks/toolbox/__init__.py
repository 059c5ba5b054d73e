from esagent.tasks.toolbox.family import ToolboxFamily
from esagent.tasks.toolbox.steps import STEPS

__all__ = ["STEPS", "ToolboxFamily"]
