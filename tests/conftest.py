"""Shared by all tests: one JAX thread, and no rank promotion by accident."""

import os
import sys
from pathlib import Path

import pytest

os.environ["NPROC"] = "1"
# Tests compile often and compute little.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
# Workers find the broken environments of `broken_envs.py` here, as a user's own module.
sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    """Compile each program once in a test run."""
    import tempfile

    import jax

    jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp(prefix="recall-tests-"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_runtest_teardown(item, nextitem):
    """Forget compiled programs in time.

    A program compiled at the tests' level takes a thousand memory mappings, of which Linux grants a process 65,530.
    """
    import jax

    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > 30_000:
        jax.clear_caches()


@pytest.fixture(scope="session")
def recall(tmp_path_factory):
    """Starts `recall` in processes of their own, compiled as users compile it."""
    from processes import Recall

    return Recall(tmp_path_factory.mktemp("compiled"))


@pytest.fixture(scope="session")
def plan(tmp_path_factory):
    """The plan of a small campaign."""
    from small_campaign import write_plan

    return write_plan(tmp_path_factory.mktemp("plan") / "own.toml")


@pytest.fixture(scope="session")
def shared(recall, plan, tmp_path_factory):
    """The small campaign, carried out by processes of this machine with nothing happening to them."""
    out = tmp_path_factory.mktemp("campaign") / "shared"
    said = recall("campaign", "run", plan, "--out", out, "--slots", 2)
    assert "2 of 2 runs done" in said
    return out
