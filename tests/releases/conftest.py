"""Which releases the contract tests compare, and when their snapshots may be written."""

import os

import pytest

from contracts.releases import NEWEST, OLDEST, RELEASES


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the releases."""
    parser.addoption(
        "--releases",
        default="ends",
        help="a release, several with commas, 'all', or 'ends' for the oldest and the newest",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an update where it could cut a file or go unseen."""
    if not getattr(config.option, "update_snapshots", False):
        return
    if os.environ.get("CI"):
        raise pytest.UsageError("snapshots are not updated in CI: run it locally and commit")
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("snapshots are not updated under xdist: leave out -n")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the releases that were named."""
    if "release" not in metafunc.fixturenames:
        return
    named = metafunc.config.getoption("--releases")
    groups = {"all": RELEASES, "ends": (OLDEST, NEWEST)}
    releases = groups.get(named, tuple(named.split(",")))
    unknown = [release for release in releases if release not in RELEASES]
    if unknown:
        raise pytest.UsageError(f"no snapshots of {', '.join(unknown)}: there are {RELEASES}")
    metafunc.parametrize("release", releases, scope="module")
