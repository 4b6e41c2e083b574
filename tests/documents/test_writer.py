"""What we write, every reader of YAML reads back as it was: as values and as keys, in lists and below mappings."""

import json
import re
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from jobspec.documents.reader import read
from jobspec.documents.writer import write
from tests.support import kubectl, processes
from tests.support.server import kubeconfig

WORDS = """
    y Y n N yes Yes no NO on On off OFF true True TRUE false null Null NULL ~ inf nan .inf -.INF +.inf .nan .NaN
    0 00 08 010 0o10 0x1F -0x1F 0b1 0b2 1_000 _1 -_1 ._1 ._ -_ 1:30 190:20:30 1.5 .5 5. +1 -1 1e3 1E3 1e+3 -1e-3 1e400 1,000 0.0 -0
    2001-01-01 2001-12-14t21:59:43.10-05:00 2001-12-14T21:59:43Z 12e03 0e0 0x 0b 0o 0xZ 9223372036854775808 1__0 1.2.3 1. 1.e1
    - -- --- ... --a ---a .. . + = << >> * & ! % @ ` | > ' " [ ] { } ? : , # \\ a: :a ?a -a *a &a !a %a @a `a |a >a 'a "a #a [a {a ]a
    a# a:b a,b a'b a"b a[b] a{b} $ $(A) ${A} /a ~/a \\n é ß 日本 😀
"""
LINES = """
 a|a |  |- a|? a|: a|a: b|a #b|a : b|a :b|# a|--- a|... a|2001-12-14 21:59:43.10 -5|1 000|
\\n|\\n\\n|\\r|\\r\\n|\\t|\\ta|a\\t|\\na|a\\n|a\\n\\n|a\\n\\n\\n|a\\nb|a\\r\\nb|a\\rb|\\n a\\n
---\\na|a\\n---\\nb|a\\n...\\n|a\\n# b\\n|a\\n- b
 a\\nb|a \\nb|a\\n b|a\\n \\nb|a\\n\\tb\\n|\\ta\\nb\\n|a\\nb |a\\nb\\t|a\\n\\n b\\n\\n|\\xe9\\n\\xdf\\n|a\\n\\U0001f600\\n
\\x7f|\\x80|\\x85|a\\x85b|\\xa0|a\\xa0|\\u2028|a\\u2028b|a\\u2028\\nb|\\u2029|\\ufeff|a\\ufeffb|\\ufeffa\\nb|\\ufffd|\\x1b[0m"""
LONG = {"k" * 127, "k" * 128, "k" * 129, "k" * 300, "k k " * 300 + "k", "k" * 1025, "é" * 300, "x" * 200 + "\n" + "y" * 200}
#: What at least one reader of the world takes for something else, or cannot read, where it stands bare.
STRINGS = sorted({*WORDS.split(), *(line.encode().decode("unicode_escape") for line in re.split(r"\||\n", LINES)), *LONG})
CONTROLS = [chr(number) for number in range(1, 32)]
TEXT = (
    st.sampled_from([*STRINGS, *CONTROLS])
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
    | st.text("019_.,:+-xXoOeEtTzZ~fn y#'\"\n\t -", max_size=12)
    | st.lists(st.sampled_from(STRINGS), max_size=4).map("".join)
    | st.lists(st.sampled_from(["a", "", " ", "- b", "c: d", "#", "\t", "if x; then", "  y", "é", "---"]), max_size=6).map("\n".join)
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer() or abs(number) > 2.0**63)
SCALARS = TEXT | st.integers(-(2**63), 2**63 - 1) | FLOATS | st.booleans() | st.none()
DATA = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12)


def _ours(text: str) -> Any:
    documents, problems = read(text, file="written.yaml")
    assert problems == []
    return documents[0].data


def _ruamel(text: str) -> Any:
    """By the rules of YAML 1.2."""
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return reader.load(StringIO(text))


READERS: dict[str, Callable[[str], Any]] = {
    "ours": _ours,
    "ruamel.yaml": _ruamel,
    "PyYAML": yaml.safe_load,
    "libyaml": lambda text: yaml.load(text, yaml.CSafeLoader),
}


def _kubectl(*documents: Any) -> list[Any]:
    """What kubectl makes of what we write for each of *documents*."""
    manifests = [{"apiVersion": "example.dev/v1", "kind": "Probe", "metadata": {"name": "probe"}, "data": data} for data in documents]
    return [manifest["data"] for manifest in kubectl.decoded(write(manifests))]


def _same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _lines(data: Any) -> list[str]:
    return write([data]).splitlines()


def _around(text: str) -> list[Any]:
    """A text as a value and as a key, in lists and below mappings."""
    return [{"a": text}, {text: "a"}, [text, text], {text: {text: [text, [text], {text: text}, {}]}}, {"a": text, "b": "c"}]


@pytest.mark.parametrize("reader", READERS)
def test_a_text_that_looks_like_something_else_stays_a_text(reader: str) -> None:
    every = [data for text in (*STRINGS, *CONTROLS) for data in _around(text)]
    assert [data for data in every if READERS[reader](write([data])) != data] == []


@given(data=st.dictionaries(TEXT, DATA, max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_data_reads_back(data: Any) -> None:
    text = write([data])
    assert [name for name, reader in READERS.items() if not _same(reader(text), data)] == []


def test_kubernetes_reads_back_every_text_as_value_and_as_key() -> None:
    texts = [*STRINGS, *CONTROLS]
    data = {"values": {f"k{number}": text for number, text in enumerate(texts)}, "items": texts, "keys": dict.fromkeys(texts, "a")}
    deep = {text: {text: [[text], {text: text}]} for text in texts}
    assert _kubectl(data, deep) == [data, deep]


def test_kubectl_create_reads_back_every_text_as_value_and_as_key() -> None:
    """The same through `kubectl create --dry-run=client`, which asks a server what kinds there are."""
    texts = [*STRINGS, *CONTROLS]
    data = {**{f"k{number}": text for number, text in enumerate(texts)}, **dict.fromkeys(texts, "a")}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "annotations": data}, "data": data}
    command = ["kubectl", f"--kubeconfig={kubeconfig()}", "create", "--dry-run=client", "--validate=false", "--output=json", "--filename=-"]
    done = processes.program(*command, stdin=write([manifest]), timeout=60)
    assert done.returncode == 0, done.stderr
    created = json.loads(done.stdout)
    assert (created["data"], created["metadata"]["annotations"]) == (data, data)


@pytest.mark.slow
@given(st.lists(st.dictionaries(TEXT, DATA, max_size=4), min_size=1, max_size=20))
@settings(max_examples=25, deadline=None)
def test_kubernetes_reads_back_any_data(documents: list[Any]) -> None:
    assert _same(_kubectl(*documents), documents)


@given(st.dictionaries(TEXT, DATA, max_size=4))
@settings(deadline=None)
def test_what_was_read_back_is_written_alike(data: Any) -> None:
    text = write([data])
    assert text == write([_ours(text)]) == write([data])


def _emitted(documents: list[Any]) -> str:
    """The text that libyaml emits for documents whose scalars have the styles of ours."""
    stream = StringIO()
    emitter = yaml.CSafeDumper(stream, width=2**30, allow_unicode=True)
    emitter.open()
    for number, data in enumerate(documents):
        emitter.emit(yaml.DocumentStartEvent(explicit=number > 0))
        for event in _events(data):
            emitter.emit(event)
        emitter.emit(yaml.DocumentEndEvent(explicit=False))
    emitter.close()
    return stream.getvalue()


def _events(data: Any, *, is_key: bool = False) -> Iterator[yaml.Event]:
    if isinstance(data, dict):
        yield yaml.MappingStartEvent(None, None, True, flow_style=not data)
        for key, value in data.items():
            yield from _events(key, is_key=True)
            yield from _events(value)
        yield yaml.MappingEndEvent()
    elif isinstance(data, list):
        yield yaml.SequenceStartEvent(None, None, True, flow_style=not data)
        for item in data:
            yield from _events(item)
        yield yaml.SequenceEndEvent()
    else:
        spelt = write([data])
        style = {'"': '"', "|": '"' if is_key else "|"}.get(spelt[0])
        text = data if isinstance(data, str) else spelt.rstrip()
        yield yaml.ScalarEvent(None, None, (True, True), text, style=style)


def test_libyaml_emits_the_same_for_a_text() -> None:
    streams = [[*_around(text), text, []] for text in (*STRINGS, *CONTROLS)]
    every = [*streams, *([data] for stream in streams for data in stream)]
    assert [documents for documents in every if _emitted(documents) != write(documents)] == []


@given(st.lists(DATA, max_size=4))
@settings(max_examples=100, deadline=None)
def test_libyaml_emits_the_same_for_any_data(documents: list[Any]) -> None:
    assert _emitted(documents) == write(documents)


@given(st.lists(st.dictionaries(TEXT, DATA, min_size=1, max_size=3), max_size=4))
@settings(max_examples=50, deadline=None)
def test_a_stream_keeps_its_documents_apart(documents: list[Any]) -> None:
    found, problems = read(write(documents), file="written.yaml")
    assert ([document.data for document in found], problems) == (documents, [])
    assert list(yaml.safe_load_all(write(documents))) == documents


ORDINARY = """
    ghcr.io/example/train:v1.2 example.com/train@sha256:0a1b --epochs=1 --lr=0.01 -m $(MASTER_ADDR) tcp://$(HOST):29500 500m 10Gi 2Ti
    nvidia.com/gpu sidecar.istio.io/inject /opt/pytorch/output OnFailure ReadWriteOnce kubeflow.org/v1 mnist-train a_b s3://bucket/key?x=y
    torch.distributed.run 30s 1h30m v1 PyTorchJob a,b a=b --flag user@example.com .cache nodes none
"""


@pytest.mark.parametrize("text", ORDINARY.split())
def test_an_ordinary_text_stands_bare(text: str) -> None:
    assert _lines({"a": text}) == [f"a: {text}"]
    assert _lines({text: "a"}) == [f"{text}: a"]
    assert _lines([text]) == [f"- {text}"]


def test_an_ordinary_sentence_stands_bare() -> None:
    assert _lines({"a": "python train.py && echo done; ls *.pt"}) == ["a: python train.py && echo done; ls *.pt"]


SPELLINGS = """
    null true false 0 -1 9223372036854775807 -9223372036854775808 0.5 1.0e-07 2.5e-07 1.0e+22 {} [] ""
"""


@pytest.mark.parametrize("text", SPELLINGS.split())
def test_a_value_is_spelt_as_its_shortest_reading_everywhere(text: str) -> None:
    assert _lines({"a": json.loads(text)}) == [f"a: {text}"]


SCRIPT = """\
set -euo pipefail
for rank in 0 1; do
  echo "rank: $rank" # each once
  df -h  | tail -1

done
cat <<EOF
{a: [1, 2], 'b': "ü"}
EOF
"""


def test_a_script_of_several_lines_stands_as_it_is() -> None:
    assert _lines({"args": ["-c", SCRIPT]}) == ["args:", "- -c", "- |", *(f"  {line}".rstrip() for line in SCRIPT.splitlines())]
    assert _lines({"a": SCRIPT.rstrip()})[0] == "a: |-"
    assert _lines({"a": SCRIPT + "\n"})[0] == "a: |+"


def test_a_line_is_never_folded() -> None:
    sentence = "word " * 100 + "end"
    assert _lines({"a": sentence, "b": sentence + "é"}) == [f"a: {sentence}", f'b: "{sentence}é"']
