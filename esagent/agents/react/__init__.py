"""The ReAct agent: one policy in a free loop of thought, tool call and observation."""

from esagent.agents.react.agent import ReactAgent

__all__ = ["ReactAgent"]
