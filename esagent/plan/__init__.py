"""What a configuration will cost, before anything is run or downloaded."""

from esagent.plan.cost import Plan, plan
from esagent.plan.describe import describe

__all__ = ["Plan", "describe", "plan"]
