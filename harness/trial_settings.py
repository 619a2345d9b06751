"""Dimensions of a trial: those that a user sets, beside those that the payload says."""

from collections.abc import Mapping, Sequence

from harness.errors import UsageError, unknown
from harness.seam import Seam


def chosen_dims(
    seam: Seam, settings: Sequence[str], said: Mapping[str, str], by: Mapping[str, str]
) -> dict[str, str]:
    """Return the dimensions that are said and set.

    Args:
        seam: The seam.
        settings: `KEY=VALUE`, as typed.
        said: Dimensions that the payload says.
        by: For dimensions that cannot be set, the option that says them.

    Raises:
        UsageError: if a setting cannot be understood, is there twice, or cannot be set.
    """
    chosen: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting}: expected KEY=VALUE")
        if key in by:
            raise UsageError(f"--set {setting}: {by[key]}")
        if key not in seam.dims:
            raise unknown(f"dimension of {seam.name}", key, [n for n in seam.dims if n not in by])
        if key in chosen:
            raise UsageError(f"--set {setting}: {key} is set twice")
        chosen[key] = value
    return {**said, **chosen}


def every_dim(seam: Seam, chosen: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return all dimensions of a seam, in its order.

    Raises:
        UsageError: if one has no value, or one that it does not accept.
    """
    return tuple((name, _value(seam, name, chosen)) for name in seam.dims)


def _value(seam: Seam, name: str, chosen: Mapping[str, str]) -> str:
    value, meaning = chosen.get(name, seam.dims[name].default), seam.dims[name].meaning
    if value is None:
        raise UsageError(f"try {seam.name} needs --set {name}=...: {meaning}")
    if not seam.dims[name].accepts(value):
        raise UsageError(f"--set {name}={value}: expected {meaning}")
    return value
