"""What is searched: tensors of numbers, each with the name that keys its noise."""

from __future__ import annotations

from dataclasses import dataclass

from esagent.core.population import Perturbation


@dataclass(frozen=True)
class SearchTensor:
    """One searched tensor, as a flat row of `size` numbers.

    weight: the Hugging Face name of the parameter, or what it would be called there.
    site: path of the layer that it acts in. owner: the module it belongs to, "" when it serves them all.
    scale: what sigma is stated relative to. layer: index of its layer, -1 outside the stack.
    row: numbers in a row of a matrix; 0 for a vector.
    """

    weight: str
    site: str
    size: int
    scale: float
    owner: str = ""
    layer: int = -1
    row: int = 0

    @property
    def name(self) -> str:
        """Keys its noise: unique among all searched tensors."""
        return f"{self.weight}@{self.owner}" if self.owner else self.weight

    @property
    def kind(self) -> str:
        """What sort of layer it acts in: the last part of its path, as in `down_proj`."""
        return self.site.rpartition(".")[2]


@dataclass(frozen=True)
class Setting:
    """The parameters that a request runs under: those of its module, perturbed or (None) at the centre."""

    module: str
    perturbation: Perturbation | None
