"""The documentation site: it builds without a broken link, has a page a rule and a command, and its pictures are what is printed now."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from jobspec.commands import COMMANDS
from jobspec.lint.catalogue import rules
from tests.support import quick_yaml
from tests.support.manifests import write
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
    done = program(sys.executable, ROOT / "docs" / "make.py", tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.parent.name for path in (tmp_path / "site" / "rules").glob("*/index.html")} == set(rules())
    assert {path.parent.name for path in (tmp_path / "site" / "commands").glob("*/index.html")} == set(COMMANDS)
    page = (tmp_path / "site" / "guides" / "kueue" / "index.html").read_text()
    assert '<span class="error">error</span>: never admitted' in page
    assert '[<a class="rule" href="../../rules/never-admitted/">never-admitted</a>]' in page
    assert "fonts.googleapis" not in page
    assert (tmp_path / "site" / "llms.txt").read_text().startswith("# jobspec\n")


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    """A site of one page, by the settings of ours."""
    settings = {**quick_yaml.load((ROOT / "mkdocs.yml").read_text()), "nav": ["index.md"]}
    write(tmp_path, {"mkdocs.yml": quick_yaml.dump(settings)})
    for place, code in (("index.md", 0), ("nowhere.md", 1)):
        write(tmp_path, {"docs/index.md": f"# A page\n\n[there]({place})\n"})
        done = program(sys.executable, "-m", "zensical", "build", "--strict", cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr


def test_the_pictures_are_fresh() -> None:
    drawn = _make().pictures()
    stale = [path.name for path, picture in drawn.items() if not path.exists() or path.read_text() != picture]
    assert stale == [], "make them again: python docs/make.py --pictures"
