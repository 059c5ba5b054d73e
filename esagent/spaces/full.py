"""`full`: the model's own parameters, all of them or those chosen by name; every module of the agent shares them.

Members differ in every weight, so no batch can serve two of them: they are written into the model one after the other
(see `weights`). For ES on whole models see ES at Scale (arXiv 2509.24372).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esagent.core.laws import Law
from esagent.spaces.base import Term
from esagent.spaces.forms import Dense
from esagent.spaces.named import Named, lowest_layer
from esagent.spaces.partitions import Partition
from esagent.spaces.sites import Site
from esagent.spaces.tensors import Setting
from esagent.spaces.weights import Weights


class FullSpace:
    """Independent noise on the parameters `found` of a model of `depth` layers."""

    in_place = True
    answers_only = False
    sites: tuple[Site, ...] = ()

    def __init__(
        self,
        found: Sequence[Named],
        depth: int,
        partition: Partition,
        relative: bool = False,
        keep_master: bool = True,
        law: Law = "gaussian",
    ) -> None:
        self.lowest_layer = lowest_layer(found, depth)
        form = Dense(found[0].tensor.device, law)
        self.parameters = Weights(found, partition, form, relative=relative, keep_master=keep_master)

    def terms(self, settings: Sequence[Setting | None]) -> Mapping[str, Term]:
        """None: what differs stands in the model."""
        return {}
