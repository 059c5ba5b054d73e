"""What the children of tests import and build first, done once in the process that they are forked from."""

import matplotlib.backends.backend_agg
import matplotlib.backends.backend_svg
import transformers.models.llama.modeling_llama
from matplotlib.figure import Figure

import tests.helpers.vector
import tests.runs.steps
import tests.runs.tiny_run
from tests.runs.tiny_run import Letters

__all__ = ["matplotlib", "tests", "transformers"]

Letters().tasks("train", 0, 40)  # units of measurement take longest
Figure().add_subplot().set_title("fonts")
