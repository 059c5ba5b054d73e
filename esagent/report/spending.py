"""What a run has spent, in words: its budget, training and evaluation apart, and FLOPs by the papers' models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.core.ledger import KINDS
from esagent.report.run import Run
from esagent.report.text import amount, duration


def budget_of(run: Run) -> dict[str, Any] | None:
    """Kind and limit of the run's budget, and when it is finished what was spent; None when it cannot be read."""
    if isinstance(run.summary.get("budget"), dict):
        return dict(run.summary["budget"])
    settings = run.config.get("budget")
    found = {kind: settings.get(kind) for kind in KINDS} if isinstance(settings, dict) else {}
    return next(({"kind": k, "limit": v} for k, v in found.items() if isinstance(v, int | float)), None)


def ledger_of(run: Run) -> dict[str, Any]:
    """By phase what was counted; of an unfinished run training alone, as far as it has come."""
    ledger = run.summary.get("ledger")
    return dict(ledger) if isinstance(ledger, dict) else {"training": run.spent}


def facts(budget: Mapping[str, Any] | None, ledger: Mapping[str, Any]) -> dict[str, str]:
    """Rows of a table: name and text."""
    found = {"budget": _budget(budget)} if budget else {}
    for phase in ("training", "uncounted", "evaluation", "calibration"):
        sums = ledger.get(phase) or {}
        if sums.get("episodes"):
            found[phase] = _sums(sums)
    training = ledger.get("training") or {}
    if "message_bytes" in training:
        found["messages"] = f"{amount(training['message_bytes'])} bytes, and {amount(training['text_bytes'])} of texts"
    models = (ledger.get("training") or {}).get("model_flops") or {}
    if any(models.values()):
        found["FLOPs by model"] = (
            f"{amount(models['processed'])} at 2 P a token asked for, {amount(models['es'])} at 2 P L; "
            f"GRPO {amount(models['grpo'])} at 8 P L"
        )
    return found


def _budget(budget: Mapping[str, Any]) -> str:
    kind, limit = budget["kind"], budget["limit"]
    text = f"{amount(limit)} {kind}"
    if "spent" in budget:
        text += f", {amount(budget['spent'])} spent" if budget["spent"] != limit else ", all spent"
    if budget.get("uncounted"):
        text += f", {amount(budget['uncounted'])} more on a step that did not fit"
    return text


def _sums(sums: Mapping[str, Any]) -> str:
    tokens = (sums.get("prompt_tokens") or 0) + (sums.get("completion_tokens") or 0)
    return (
        f"{sums['episodes']:,} episodes, {amount(tokens)} tokens ({amount(sums.get('shared_tokens'))} shared), "
        f"{amount(sums.get('flops'))} FLOPs, {duration(sums.get('seconds'))}"
    )
