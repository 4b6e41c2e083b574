"""The documentation site: it builds without a broken link, has a page a rule and a command, and its pictures are what is printed now."""

import importlib.util
from pathlib import Path
from types import ModuleType

from jobspec.commands import COMMANDS
from jobspec.rules.catalogue import rules
from tests.support.processes import program
from tests.support.reference import ROOT


def _make() -> ModuleType:
    found = importlib.util.spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_site_builds_with_a_page_for_each_rule_and_command(tmp_path: Path) -> None:
    done = program(_make().sys.executable, ROOT / "docs" / "make.py", tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.parent.name for path in (tmp_path / "site" / "rules").glob("*/index.html")} == set(rules())
    assert {path.parent.name for path in (tmp_path / "site" / "commands").glob("*/index.html")} == set(COMMANDS)
    assert (tmp_path / "site" / "llms.txt").read_text().startswith("# jobspec\n")


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    make = _make()
    make.write_sources(tmp_path)
    page = tmp_path / "docs" / "tutorial.md"
    page.write_text(page.read_text() + "\n[nowhere](nowhere.md)\n")
    assert program(make.sys.executable, "-m", "zensical", "build", "--strict", cwd=tmp_path).returncode != 0


def test_the_pictures_are_fresh() -> None:
    drawn = _make().pictures()
    stale = [path.name for path, picture in drawn.items() if not path.exists() or path.read_text() != picture]
    assert stale == [], "make them again: python docs/make.py --pictures"
