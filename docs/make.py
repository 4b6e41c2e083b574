"""Make the documentation site: `python docs/make.py FOLDER`; with `--pictures`, the pictures in `docs/pictures` as well.

The pages are those of `docs/`; one for each rule and each command is made from the code. Zensical builds the site, since it is what the
authors of Material for MkDocs maintain now, and it reads the same `mkdocs.yml`.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from jobspec.commands import COMMANDS
from jobspec.lint import rule_pages
from jobspec.lint.catalogue import rules, severity_of, stage_of
from jobspec.lint.pages import as_markdown
from jobspec.lint.topics import by_topic
from jobspec.reports.text import SITE

DOCS = Path(__file__).parent
ROOT = DOCS.parent
#: The pictures of the README, by name: the commands that are typed, in a folder with the README's job and quota.
PICTURES = {
    "lint": "jobspec lint",
    "expand": "jobspec expand bert.yaml -o table",
}
_COLUMNS = 112
#: The stages of rules, as headings.
_STAGES = {
    "lint": "Advice on what is accepted",
    "outcome": "Accepted, and will not run as it should",
    "admission": "Refused by the API server or a webhook",
    "schema": "Against the schema",
    "decoding": "Not readable",
    "render": "Projects and overlays",
    "migration": "What a migration changes",
}


def main() -> int:
    """Make the site; 1 where a link leads nowhere or a page is in no menu."""
    parser = argparse.ArgumentParser(prog="docs/make.py", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "site", help="where the site goes; `site` by default")
    parser.add_argument("--pictures", action="store_true", help="make the pictures in docs/pictures again, and nothing else")
    options = parser.parse_args()
    if options.pictures:
        for path, picture in pictures().items():
            path.write_text(picture)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        write_sources(place)
        done = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=place, check=False)
        if done.returncode:
            return 1
        for page in (place / "site").rglob("*.html"):
            page.write_text(with_coloured_output(page.read_text(), to_root="../" * (len(page.relative_to(place / "site").parts) - 1)))
        shutil.rmtree(options.folder, ignore_errors=True)
        shutil.copytree(place / "site", options.folder)
    return 0


def write_sources(place: Path) -> None:
    """Write the pages and the configuration of the site into a folder."""
    pages = place / "docs"
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("make.py", "rules.md", "__pycache__"))
    made = {**_pages_of_rules(), **command_pages(), "llms.txt": llms(), "index.md": index()}
    for name, text in made.items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(text)
    for page in pages.rglob("*.md"):
        page.write_text(page.read_text().replace("../rules.md", "../rules/index.md"))
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    settings |= {"site_url": SITE} if SITE else {}
    settings["nav"] = [*settings["nav"], {"Lint rules": _rule_menu()}]
    reference = next(each["Reference"] for each in settings["nav"] if "Reference" in each)
    reference.append({"Commands": [f"commands/{name}.md" for name in COMMANDS]})
    (place / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))


def index() -> str:
    """The first page: the README, whose links begin at the root of the repository."""
    text = (ROOT / "README.md").read_text().replace("](docs/", "](").replace('"docs/', '"').replace("](rules.md)", "](rules/index.md)")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "trainer/README.md"):
        text = re.sub(rf"\[([^\]]*)\]\({re.escape(name)}\)", r"\1", text)
    return text


def with_coloured_output(page: str, *, to_root: str) -> str:
    """Colour the severities in the terminal output of a page, and link the names of rules.

    *to_root*: the relative address of the site's root.
    """

    def coloured(line: re.Match[str]) -> str:
        text = re.sub(r"(?<=: )(error|warning|info)(?=: )", r'<span class="\1">\1</span>', line[0], count=1)
        return re.sub(r"\[([a-z0-9-]+)\]", lambda name: _linked(name[1], to_root) if name[1] in rules() else name[0], text)

    return re.sub(r'<span class="go">.*?</span>', coloured, page, flags=re.DOTALL)


def _linked(rule: str, to_root: str) -> str:
    return f'[<a class="rule" href="{to_root}rules/{rule}/">{rule}</a>]'


def _pages_of_rules() -> dict[str, str]:
    """The page of each rule by its path, and one that lists them."""
    advice = {rule.name: rule for found in by_topic().values() for rule in found}
    pages = {}
    for name in rules():
        body = re.sub(r"^### .*\n", "", as_markdown(advice[name]) if name in advice else rule_pages.as_markdown(name))
        pages[f"rules/{name}.md"] = f"# {name}\n{body}\nStage: `{stage_of(name)}`. Ignore it with `# jobspec: ignore[{name}] reason`.\n"
    head = "\n| rule | severity | what it finds |\n|---|---|---|\n"
    text_of = rules()
    sections = [
        f"\n## {_STAGES[stage]}\n{head}"
        + "".join(f"| [`{name}`]({name}.md) | {severity_of(name)} | {_sentence(text_of[name])} |\n" for name in names)
        for stage, names in _by_stage().items()
    ]
    return {**pages, "rules/index.md": "# Lint rules\n" + "".join(sections)}


def _by_stage() -> dict[str, list[str]]:
    """The names of all rules by their stage."""
    found: dict[str, list[str]] = {stage: [] for stage in _STAGES}
    for name in sorted(rules()):
        found[stage_of(name)].append(name)
    return found


def _sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".").replace("|", "\\|")


def _rule_menu() -> list[str | dict[str, list[str]]]:
    """The list of all rules, and their pages by stage."""
    return ["rules/index.md", *({_STAGES[stage]: [f"rules/{name}.md" for name in names]} for stage, names in _by_stage().items())]


def command_pages() -> dict[str, str]:
    """The page of each command by its path: its own help."""
    return {
        f"commands/{name}.md": f"# jobspec {name}\n\n{does[:1].upper()}{does[1:]}.\n\n```text\n{_help(name)}```\n"
        for name, does in COMMANDS.items()
    }


def _help(name: str) -> str:
    surroundings = {**os.environ, "COLUMNS": "76", "NO_COLOR": "1"}
    words = [sys.executable, "-m", "jobspec", name, "--help"]
    return subprocess.run(words, capture_output=True, text=True, check=True, env=surroundings).stdout


def llms() -> str:
    """The list of pages for language models (https://llmstxt.org)."""
    pages = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md") if path.name != "rules.md")
    lines = [f"- [{_title(DOCS / page)}]({page.as_posix()})" for page in pages]
    what = "Check Kubernetes training jobs (TrainJob, PyTorchJob) offline: verdict, pods, lint, overlays, GitOps, migration."
    return "\n".join(["# jobspec", "", f"> {what}", "", *lines, ""])


def _title(page: Path) -> str:
    return page.read_text().partition("\n")[0].removeprefix("# ")


def pictures() -> dict[Path, str]:
    """The pictures by their paths: what commands print on a terminal, as SVG for light and for dark pages."""
    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI
    from rich.text import Text

    examples = re.findall(r"```yaml title=\"(.*?)\"\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    drawn = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, text in examples:
            if name != "jobspec.yaml":
                (Path(temporary) / name).write_text(text)
        surroundings = {**os.environ, "FORCE_COLOR": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        for name, command in PICTURES.items():
            words = [sys.executable, "-m", *command.split()]
            shown = subprocess.run(words, cwd=temporary, env=surroundings, capture_output=True, text=True, check=False).stdout
            for shade, theme in (("light", DEFAULT_TERMINAL_THEME), ("dark", DIMMED_MONOKAI)):
                console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
                console.print(Text(f"$ {command}", style="bold"))
                console.print(Text.from_ansi(shown.rstrip("\n")))
                picture = console.export_svg(title=command, theme=theme, unique_id=f"{name}-{shade}")
                drawn[DOCS / "pictures" / f"{name}-{shade}.svg"] = picture
    return drawn


if __name__ == "__main__":
    sys.exit(main())
