"""Every case file: the lines that a rule is written beside are the lines that the rule is reported for."""

import json
import textwrap
from pathlib import Path

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.decoding import MAX_BYTES
from jobspec.world.world import Cluster
from tests.support import quick_yaml
from tests.support.cases import assert_reported, expectations, target_of
from tests.support.checking import result
from tests.support.reference import ROOT, folder

CASES = sorted((ROOT / "tests" / "cases" / "validate").glob("*.yaml"))
_HEAD = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n"
_GOOD = _HEAD + "spec: {pytorchReplicaSpecs: {}}\n"


def _diagnostics(path: Path) -> list[Diagnostic]:
    """What the schema says to a file, at the releases that a first line `# target: OPERATOR=RELEASE ...` names."""
    target = target_of(path.read_text(errors="replace"))
    return result(path, Cluster(target, webhooks=False)).diagnostics


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_rule_is_reported_where_it_is_expected_and_nowhere_else(path: Path) -> None:
    found = _diagnostics(path)
    assert_reported(expectations(path.read_text()), found)
    assert [each.mark.line for each in found] == sorted(each.mark.line for each in found)


_COMMENTS_CANNOT_STAND_HERE = {
    "a tab": (
        "apiVersion: v1\nkind: List\nitems:\n\t- a\n",
        [(4, 1, "yaml-syntax", "indented with a tab: YAML allows spaces only")],
    ),
    "a colon too many": (
        _HEAD + "spec:\n  a: b: c\n",
        [
            (
                *(5, 7, "yaml-syntax"),
                "unexpected `:`: the line is indented too far, or a value with `: ` in it needs quotes",
            )
        ],
    ),
    "an open quote": (_HEAD + 'spec:\n  ä: "b\n', [(5, 6, "yaml-syntax", "unclosed quote: the string that begins here does not end")]),
    "an open list": (_HEAD + "spec: [a\n", [(4, 7, "yaml-syntax", "unclosed list: expected `,` or `]`")]),
    "an open mapping": (_HEAD + "spec: {a: b\n", [(4, 7, "yaml-syntax", "unclosed mapping: expected `,` or `}`")]),
    "a key alone": (
        _HEAD + "spec:\n  a: 1\n  b\n",
        [(6, 3, "yaml-syntax", "expected `:` after this key, or quotes around this string")],
    ),
    "another indentation": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n   name: a\n  labels: {}\n",
        [(5, 3, "yaml-syntax", "inconsistent indentation: this line does not fit the lines above")],
    ),
    "a reserved character": (_HEAD + "spec: @a\n", [(4, 7, "yaml-syntax", "unexpected character at the start of a value")]),
    "a control character": (_HEAD + "spec: ä\x07\n", [(4, 8, "yaml-syntax", "a control character that YAML does not allow")]),
    "an unknown escape": (_HEAD + 'spec: "ä\\d"\n', [(4, 9, "yaml-syntax", "unknown escape after `\\`")]),
    "a template": (_HEAD + "spec: {{ .Values.spec }}\n", [(4, 8, "unsupported-value", "a key must be a string, not a mapping or list")]),
    "another version of YAML": ("%YAML 1.2\n---\n" + _GOOD, [(1, 1, "yaml-syntax", "Kubernetes does not read YAML 1.2, only 1.1")]),
    "its own version of YAML": ("# why\n%YAML 1.1\n%TAG !e! tag:example.com,2000:\n---\n" + _GOOD.replace(" a}", " !e!x a}"), []),
    "no space after the colons": (
        "apiVersion:v1\nkind:List\n",
        [(1, 1, "not-a-manifest", "not a Kubernetes manifest: expected an object, got a single value")],
    ),
    "a blank that is none": (
        _HEAD + "spec:\n  \u00a0pytorchReplicaSpecs: {}\n",
        [
            (4, 1, "missing-field", "missing required field `pytorchReplicaSpecs` in `spec`"),
            (5, 3, "unknown-field", "unknown field `\u00a0pytorchReplicaSpecs` in `spec`"),
        ],
    ),
    "JSON": ('{"apiVersion": "kubeflow.org/v1",\n\t"kind": "PyTorchJob", "metadata": {"name": "a"}}', []),
    "JSON at fault": (
        '{"apiVersion": "kubeflow.org/v1",\n\t"kind": "PyTorchJob", "metadata": {"name": true}}',
        [(2, 45, "wrong-type", "`name`: expected a string, got the boolean true")],
    ),
    "a byte order mark": ("\ufeff" + _GOOD, []),
    "a byte order mark before a fault": ("\ufeffspec: 1\n" + _HEAD, [(1, 7, "wrong-type", "`spec`: expected an object, got the number 1")]),
    "Windows' line ends": (
        (_GOOD + "---\n" + _HEAD + "spec: ä\n").replace("\n", "\r\n"),
        [(9, 7, "wrong-type", '`spec`: expected an object, got the string "ä"')],
    ),
    "an old Macintosh's line ends": (
        (_HEAD + "spec: 1\n").replace("\n", "\r"),
        [(4, 7, "wrong-type", "`spec`: expected an object, got the number 1")],
    ),
    "something after the end": (_GOOD + "...\na: b\n", [(6, 1, "yaml-syntax", "unexpected text after the end of the document")]),
    "nothing": ("", []),
    "a comment": ("# nothing\n", []),
    "empty documents": ("---\n---\n# nothing\n---\n" + _GOOD + "---\n...\n", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), _COMMENTS_CANNOT_STAND_HERE.values(), ids=_COMMENTS_CANNOT_STAND_HERE)
def test_inputs_in_which_no_comment_can_stand(text: str, expected: list[tuple[int, int, str, str]], tmp_path: Path) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_bytes(text.encode())
    assert [(each.mark.line, each.mark.column, each.rule, each.message) for each in _diagnostics(file)] == expected


def test_bytes_that_are_no_text_are_reported_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "latin-1.yaml"
    file.write_bytes((_HEAD + "spec: {ä: ").encode() + "ö}\n".encode("latin-1"))
    (found,) = _diagnostics(file)
    assert (found.mark.line, found.mark.column, found.rule, found.message) == (4, 11, "not-utf8", "the byte 0xf6 is not UTF-8")


@pytest.mark.parametrize(("size", "rules"), [(MAX_BYTES, []), (MAX_BYTES + 1, ["too-large"])])
def test_three_mebibytes_are_the_most(size: int, rules: list[str], tmp_path: Path) -> None:
    file = tmp_path / "manifest.yaml"
    container = {"name": "pytorch", "image": "train", "args": [""]}
    roles = {"Master": {"template": {"spec": {"containers": [container]}}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": {"pytorchReplicaSpecs": roles}}
    container["args"] = ["<" * 6 + "a" * (size - len(json.dumps(job, separators=(",", ":"))) - 36)]  # Go writes `<` as \\u003c
    file.write_text(quick_yaml.dump(job) + "# a comment, which nobody sends")
    assert [each.rule for each in _diagnostics(file)] == rules


def test_a_page_that_lost_its_indentation_has_one_mistake(tmp_path: Path) -> None:
    page = next(folder("seeds").glob("003*")).read_text()
    first, last = page.index("    apiVersion: "), page.rindex("#  nvidia.com/gpu: 1")
    file = tmp_path / "job.yaml"
    file.write_text(textwrap.dedent(page[first:last]))
    (found,) = _diagnostics(file)
    assert (found.mark.line, found.mark.column, found.rule) == (4, 1, "wrong-indentation")
    assert found.message == "`name` belongs inside of `metadata:`, which is empty: lost indentation"


def test_the_same_page_with_its_indentation_is_valid(tmp_path: Path) -> None:
    page = next(folder("seeds").glob("003*")).read_text()
    first, last = page.index("    apiVersion: "), page.rindex("#  nvidia.com/gpu: 1")
    file = tmp_path / "job.yaml"
    file.write_text(_indented(textwrap.dedent(page[first:last])))
    assert list(_diagnostics(file)) == []


def _indented(flat: str) -> str:
    """The lines of the flattened job at the depths that they came from."""
    depths = {
        **dict.fromkeys(("apiVersion", "kind", "metadata", "spec"), 0),
        **dict.fromkeys(("name", "pytorchReplicaSpecs"), 2),
        **dict.fromkeys(("Master", "Worker"), 4),
        **dict.fromkeys(("replicas", "restartPolicy", "template"), 6),
        "containers": 10,
        "- name": 12,
        **dict.fromkeys(("image", "args", "resources"), 14),
        "limits": 16,
    }
    lines = []
    inside = False
    for line in flat.splitlines():
        key = line.strip().partition(":")[0]
        depth = 8 if key == "spec" and inside else depths.get(key, 18)
        inside = inside or key == "template"
        lines.append(" " * depth + line.strip())
    return "\n".join(lines) + "\n"
