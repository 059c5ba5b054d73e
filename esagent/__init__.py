"""esagent: post-training of tool-using LLM agents with evolution strategies."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("esagent")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
