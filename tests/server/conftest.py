"""What tests of dry-runs against servers of our own share."""

from pathlib import Path

import pytest

from tests.support.cluster import Runner, assets


@pytest.fixture
def dry_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    """A runner with a kubeconfig that nobody has to read."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", assets())
    return Runner(tmp_path / "kubeconfig", monkeypatch, capsys)
