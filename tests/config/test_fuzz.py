"""Whatever is typed, composing gives a configuration or a ConfigError with one-line problems; nothing else, ever."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esagent.config.compose import compose
from esagent.config.names import GROUPS
from esagent.config.paths import schema_paths
from esagent.config.schema import Config
from esagent.errors import ConfigError

_PLAIN = ["null", "true", "1e9", "-1", "0", "nan", "inf", "[]", "{}", "a", "[1,2]", "{a: 1}", "${x}", "''"]
_PLACES = ["latest", "'~nobody/x'", "'a\0b'", "./" + "x" * 5000, "x" * 5000, "/", "'../..'"]
_words = st.sampled_from([*_PLAIN, *_PLACES])
_values = _words | st.integers().map(str) | st.floats().map(str) | st.text(max_size=12)
_keys = st.sampled_from([*GROUPS, *schema_paths(), "hydra.run.dir", "hydra/launcher", "hydra"]) | st.text(max_size=8)
_signs = st.sampled_from(["", "", "", "", "", "+", "++", "~"])
_forms = st.tuples(_signs, _keys, st.sampled_from(["=", "=", "=", ""]), _values).map("".join)
_overrides = st.lists(_forms | st.text(max_size=20), max_size=4)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_overrides)
def test_never_anything_but_a_config_or_its_problems(overrides: list[str]) -> None:
    problems: tuple[str, ...] = ()
    try:
        config = compose(overrides)
    except ConfigError as error:
        problems = error.problems or ("",)  # an error has to name its problems
    else:
        assert isinstance(config, Config)
    assert all(problem and len(problem.splitlines()) == 1 for problem in problems)
