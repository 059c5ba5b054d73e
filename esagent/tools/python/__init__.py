"""Running Python that a model wrote: `make_sandbox(kind, limits).run(code)`."""

from esagent.tools.python.base import Limits, Outcome, PythonSandbox, Reason, SandboxError
from esagent.tools.python.choose import KINDS, make_sandbox
from esagent.tools.python.tool import make_python

__all__ = ["KINDS", "Limits", "Outcome", "PythonSandbox", "Reason", "SandboxError", "make_python", "make_sandbox"]
