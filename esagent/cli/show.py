"""`esagent show`: a run in full, one of its conversations, its report page; or tasks of a family."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esagent.cli.complete import choices, complete_eval, complete_shown
from esagent.cli.errors import guarded, tell
from esagent.cli.output import print_json, to_terminal
from esagent.cli.tasks import means_tasks, show_tasks
from esagent.cli.train import Json
from esagent.config.names import SPLIT_NAMES, SPLITS

if TYPE_CHECKING:
    from esagent.report.episodes import Wanted
    from esagent.runs.directory import RunDirectory

What = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN [PATH] | task=FAMILY",
        help="Folder of the run, name/run-id, a run id, or latest; or the folder of an evaluation by esagent eval. "
        "With --html then the file, RUN/report.html by default. Or tasks: task=toolbox split=test n=3 task.level=hard.",
        autocompletion=complete_shown,
    ),
]
Episode = Annotated[
    str | None,
    typer.Option("--episode", help="Print one conversation: its number, from 0, or the id of its task."),
]
Step = Annotated[int | None, typer.Option("--step", min=0, help="... after that many updates.  [default: the last]")]
SplitName = Annotated[
    str | None,
    typer.Option(
        "--split",
        help="... on pool, validation or heldout (test). Of a family: train, validation or heldout (test).",
        autocompletion=choices(*SPLITS, *SPLIT_NAMES),
    ),
]
Member = Annotated[int | None, typer.Option("--member", min=0, help="... of a member of that step's population.")]
Eval = Annotated[
    str | None,
    typer.Option(
        "--eval", help="... of an evaluation by esagent eval: its id, or latest.", autocompletion=complete_eval
    ),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent", help="... by base or trained, in that evaluation.", autocompletion=choices("base", "trained")
    ),
]
Sample = Annotated[int | None, typer.Option("--sample", min=0, help="... sampled, in that evaluation.")]
N = Annotated[int | None, typer.Option("--n", help="Of a family: how many tasks.  [default: 3]")]


def show(
    what: What,
    html: Annotated[bool, typer.Option("--html", help="Write the report page, one self-contained file.")] = False,
    episode: Episode = None,
    step: Step = None,
    split: SplitName = None,
    member: Member = None,
    eval_id: Eval = None,
    agent: AgentName = None,
    sample: Sample = None,
    n: N = None,
    as_json: Json = False,
) -> None:
    """Show a run: settings, results, modules, files; or one conversation; or write its report page.

    Or show tasks of a family, with their gold plan, calls and answer.
    """
    with guarded():
        from esagent.errors import ConfigError
        from esagent.report.episodes import Wanted
        from esagent.runs.evals import find_eval
        from esagent.runs.find import find_run

        if means_tasks(what):
            if html or episode is not None or (step, member, eval_id, agent, sample) != (None,) * 5:
                raise ConfigError("tasks of a family take --split, --n and --json; the other options are for a run")
            show_tasks(what, split, n, as_json=as_json)
            return
        run, page = what[0], Path(what[1]) if len(what) > 1 else None
        if len(what) > 2:
            raise ConfigError(f"{what[2]!r}: one run at a time, {run!r} was named before")
        if n is not None:
            raise ConfigError(f"--n {n}: is for tasks of a family, as in esagent show task=toolbox --n 5")
        wanted = Wanted(step, SPLIT_NAMES.get(split or "", split), member, eval_id, agent, sample)
        if episode is None and wanted != Wanted():
            raise ConfigError(
                "--step, --split, --member, --eval, --agent and --sample choose an episode; add --episode N"
            )
        if page is not None and not html:
            raise ConfigError(f"{page}: a file is written with --html alone; for one conversation use --episode N")
        if html and episode is not None:
            raise ConfigError("--html and --episode: one at a time; the page has examples of its own")
        evaluation = find_eval(run)
        if evaluation is not None:
            _evaluation(evaluation, episode, wanted, html=html, as_json=as_json)
            return
        directory = find_run(run)
        if episode is not None:
            _episode(directory, episode, wanted, as_json=as_json)
        elif html:
            _page(directory, page, as_json=as_json)
        else:
            _overview(directory, as_json=as_json)


@contextlib.contextmanager
def _readable(where: Path) -> Iterator[None]:
    """Within: what does not have the shape of a run's files becomes one line."""
    from esagent.errors import RunError

    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RunError(f"{where} holds something that no run writes ({type(error).__name__}: {error})") from error


def _overview(directory: RunDirectory, *, as_json: bool) -> None:
    from esagent.report.overview import overview, render
    from esagent.report.run import read_run

    found = read_run(directory.path)
    with _readable(directory.path):
        data = overview(found, _settings(found.config))
        shown = render(data)
    if as_json:
        print_json(data)
        return
    to_terminal(shown)
    for problem in found.problems:
        tell(f"{found.label}: {problem}")


def _episode(directory: RunDirectory, which: str, wanted: Wanted, *, as_json: bool) -> None:
    from esagent.report.episodes import doubt, find_file

    path = find_file(directory, wanted)
    problem = doubt(directory, path)
    if problem:
        tell(f"{path} {problem}")
    _conversation(path, which, wanted, as_json=as_json)


def _evaluation(folder: Path, which: str | None, wanted: Wanted, *, html: bool, as_json: bool) -> None:
    """An evaluation, with its run or without one: its table, or one of its conversations."""
    from esagent.errors import ConfigError, RunError
    from esagent.report.episodes import find_in_eval
    from esagent.report.evaluation import render_evaluation
    from esagent.runs.evals import RESULT, read_eval

    if html:
        raise ConfigError(f"{folder} is an evaluation, and has no page; the page of a run shows its evaluations")
    if (wanted.step, wanted.split, wanted.member, wanted.eval) != (None, None, None, None):
        raise ConfigError(f"{folder} is an evaluation; of its episodes --agent and --sample choose one")
    if which is not None:
        _conversation(find_in_eval(folder, wanted), which, wanted, as_json=as_json)
        return
    result = read_eval(folder)
    if result is None:
        raise RunError(f"{folder / RESULT} is damaged")
    with _readable(folder):
        shown = render_evaluation(result | {"eval": str(folder)})  # it may have been moved
    if as_json:
        print_json(result)
    else:
        to_terminal(shown)


def _conversation(path: Path, which: str, wanted: Wanted, *, as_json: bool) -> None:
    from esagent.report.conversation import render
    from esagent.report.episodes import find_episode
    from esagent.report.whose import state_of

    with _readable(path):
        number, found = find_episode(path, which, wanted)
        state = state_of(path)
        shown = render(found, state)
    if as_json:
        print_json({"file": str(path), "number": number, "state": state, "episode": found})
    else:
        from rich.text import Text

        to_terminal(Text(f"{path}, episode {number}", style="dim"), shown)


def _page(directory: RunDirectory, path: Path | None, *, as_json: bool) -> None:
    from esagent.report.page import write_page
    from esagent.report.run import read_run

    found = read_run(directory.path)
    with _readable(directory.path):
        written = write_page(found, _settings(found.config), path or directory.path / "report.html")
    if as_json:
        print_json({"run": str(directory.path), "html": str(written)})
    else:
        typer.echo(written)


def _settings(config: dict[str, Any]) -> dict[str, Any] | None:
    """What differs from the defaults of this version; None where the run's configuration cannot be read.

    Settings that there were not yet when the run was made had the values that are now their defaults in the schema.
    """
    from esagent.config.changes import changes
    from esagent.config.compose import compose
    from esagent.config.export import from_dict, to_dict
    from esagent.errors import ConfigError

    with contextlib.suppress(ConfigError):  # a configuration folder of one's own may have replaced the defaults
        return changes(to_dict(from_dict(config)), to_dict(compose())) if config else None
    return None
