"""The modular agent: planner, selector, caller and synthesizer, each with its own prompt and parameters."""

from esagent.agents.modular.agent import ModularAgent

__all__ = ["ModularAgent"]
