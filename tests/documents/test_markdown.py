"""Manifests in Markdown pages: found on the lines of the page, and fixed there with all else as it was."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.documents.markdown import kept, page_of, yaml_of
from tests.support.manifests import CONFIG, JOB, write
from tests.support.processes import run_here

_BAD = JOB.replace("replicas: 1", 'replicaz: "1"  # one')
_INDENTED = "".join(f"   {line}" for line in _BAD.splitlines(keepends=True))
PAGE = f"""\
# A guide

Text with `code`, and a word of # jobspec: ignore[unknown-field] in it.

```yaml
{_BAD}```

1. In a list:

   ~~~~ yml title="second"
{_INDENTED}   ~~~~

```yaml
replicaz: 1  # a part of a manifest
```
```python
apiVersion: kind: not YAML: [
```
````markdown
```yaml
{_BAD}```
````

```{{.yaml}}
---
{CONFIG}---
apiVersion: v1
kind: [
```
The end"""


def test_the_manifests_stand_on_the_lines_of_the_page() -> None:
    text = yaml_of(PAGE)
    lines, page = text.split("\n"), PAGE.split("\n")
    assert len(lines) == len(page)
    assert all(line in ("", "---", original) for line, original in zip(lines, page, strict=True))
    assert [number for number, line in enumerate(lines, 1) if "replicaz" in line] == [13, 31]
    assert text.count("PyTorchJob") == 2


_LINES = ["```yaml", "```", "~~~", "~~~ yml", "````", "apiVersion: v1", "kind: A", "---", "", "  - a: b", "#x", "\r", ">", "- > x"]


@settings(max_examples=600, deadline=None)
@given(
    st.sampled_from(["", "\ufeff"]), st.lists(st.tuples(st.sampled_from(["", "> ", ">", "\t", " > > ", "1. "]), st.sampled_from(_LINES)))
)
def test_any_page_comes_back_from_its_kept_lines(begin: str, lines: list[tuple[str, str]]) -> None:
    page = begin + "\n".join(f"{before}{line}" for before, line in lines)
    assert page_of(kept(page)) == page
    assert yaml_of(page).count("\n") == kept(page).count("\n") == page.count("\n")


def test_a_page_is_checked_where_it_is_named_or_wished_for(tmp_path: Path) -> None:
    write(tmp_path, {"guide.md": PAGE, "a.yaml": JOB})
    done = run_here("validate", "guide.md", cwd=tmp_path)
    assert done.returncode == 1
    assert [line.partition(": ")[0] for line in done.stdout.splitlines() if line.startswith("guide.md")] == [
        "guide.md:13:7",
        "guide.md:72:1",
    ]
    assert "also: 31:10" in done.stdout
    assert '   13 |       replicaz: "1"  # one' in done.stdout
    assert "1 document: 1 valid" in run_here("validate", ".", cwd=tmp_path).stdout
    assert "5 documents: 2 valid, 3 invalid" in run_here("validate", ".", "--markdown", cwd=tmp_path).stdout


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("command", ["validate", "lint"])
def test_a_page_is_fixed_in_its_fences_alone(tmp_path: Path, end: str, command: str) -> None:
    write(tmp_path, {"guide.md": PAGE.replace("\n", end)})
    done = run_here(command, "--fix", "--select", "schema", "guide.md", cwd=tmp_path)
    assert done.stderr == "guide.md: 4 problems fixed\n"
    parts = PAGE.split("````markdown")
    expected = parts[0].replace('replicaz: "1"', "replicas: 1") + "````markdown" + parts[1]
    assert (tmp_path / "guide.md").read_bytes().decode() == expected.replace("\n", end)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("begin", "margin"), [("", ""), ("", "> "), ("", ">"), ("- in a list:\n", "  > "), ("", "> > "), ("1. x\n", "\t"), ("\ufeff", "")]
)
def test_fences_are_read_and_fixed_in_quotes_lists_and_behind_tabs(tmp_path: Path, begin: str, margin: str, end: str) -> None:
    job = f"{_BAD.replace('spec:', f'spec:{chr(10)}  # a comment{chr(10)}', 1)}"
    fence = "".join(f"{margin}{line}".replace("> \n", ">\n") for line in f"```yaml\n{job}```\n".splitlines(keepends=True))
    page = f"{begin}{fence}{'> ' if '>' in margin else ''}no manifest\n".replace("\n", end)
    (tmp_path / "guide.md").write_bytes(page.encode())
    line, column = begin.count("\n") + 1 + _BAD.count("\n", 0, _BAD.index("replicaz")) + 3, len(margin) + 7
    assert run_here("validate", "guide.md", cwd=tmp_path).stdout.startswith(f"guide.md:{line}:{column}: error: ")
    assert run_here("validate", "--fix", "guide.md", cwd=tmp_path).stderr == "guide.md: 2 problems fixed\n"
    assert (tmp_path / "guide.md").read_bytes().decode() == page.replace('replicaz: "1"', "replicas: 1")


def test_a_fence_ends_with_the_quote_around_it() -> None:
    quote = "".join(f"> {line}" for line in CONFIG.splitlines(keepends=True))
    assert yaml_of(f"> ```yaml\n{quote}no: manifest\n") == f"---\n{quote.replace('> ', '  ')}---\n"


def test_comments_in_fences_ignore(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"guide.md": f"# jobspec: ignore[wrong-type] a heading\n```yaml\n{_BAD.replace('# one', '# jobspec: ignore[unknown-field]')}```\n"},
    )
    done = run_here("validate", "guide.md", cwd=tmp_path)
    last = "1 document: 1 invalid (1 not checked for admission and outcome), 1 ignored"
    assert (done.returncode, done.stdout.rpartition(" (")[0]) == (0, last)


def test_a_page_that_shows_a_project_is_none(tmp_path: Path) -> None:
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  variants: [{name: a, base: none.yaml}]\n"
    write(tmp_path, {"guide.md": f"A & **b**\n```yaml\n{project}```\n"})
    for command in ("validate", "lint"):
        assert run_here(command, "guide.md", cwd=tmp_path).stdout.startswith("1 document: 1 valid ")
