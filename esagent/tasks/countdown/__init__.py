"""Countdown: combine given numbers, each used once, into a target."""

from esagent.tasks.countdown.family import CountdownFamily

__all__ = ["CountdownFamily"]
