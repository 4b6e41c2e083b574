"""Why kustomize has built nothing: the cause in what it prints, and the entry of the kustomization that the cause is about.

Follows `accumulateTarget` and `accumulateResources`, sigs.k8s.io/kustomize/api internal/target, 0.21.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jobspec.diagnostics.places import Mark
from jobspec.documents.kustomization_fields import FIELDS
from jobspec.documents.reader import read
from jobspec.go.values import structs, texts
from jobspec.repository.kustomizations import LISTS
from jobspec.repository.roles import joined, patches_of
from jobspec.repository.written_patches import keys_set_twice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.places import Path
    from jobspec.documents.kustomization_fields import Fields
    from jobspec.repository.layers import Layer


class FailedBuild(NamedTuple):
    """Why a builder has built nothing."""

    why: str
    """Without paths of this machine."""
    folder: str = ""
    """The real path of the folder whose kustomization cannot be built; empty if the message names none."""
    is_in_files: bool = False
    """Whether the files are the cause, for all builders and all their options."""
    may_pass: bool = False
    """Whether the next build of the same files may be done: this one took too long, or did not run to its end."""

    @property
    def is_empty(self) -> bool:
        """True if the kustomization says nothing."""
        return self.why == "kustomization.yaml is empty"

    @property
    def is_in_yaml(self) -> bool:
        """True if the cause is a file that is no YAML."""
        return "yaml: " in self.why or _KEY_SET_TWICE.search(self.why) is not None


_LONGEST = 400  # characters of a message
_FOLDER = re.compile(r"(?:recursed accumulation of|couldn't make target for) path '([^']*)'")
#: What is left out of a message, and what takes its place.
_SAID: list[tuple[str, str]] = [
    (r"^.*\bnew root cannot be empty\"?$", "an entry is empty"),
    (r"^.*(?:recursed accumulation of|couldn't make target for) path '[^']*': ", ""),
    (r"^.*accumulating resources: ", ""),
    (r"^accumulation err='(?:accumulating|merging) resources from '([^']*)': (.*)': must build at directory: .*$", r"`\1`: \2"),
    (r"^accumulation err='accumulating resources from '([^']*)': .*?': recursed merging from path '[^']*': ", r"`\1`: "),
    (r"^accumulation err='accumulating resources from '([^']*)': .*?': (?=cycle)", r"`\1`: "),
    (r"^(?:accumulating|merging) resources from '([^']*)': ", r"`\1`: "),
    (
        r"^accumulating components: loader\.New \"must build at directory: '[^']*?([^'/]+)': file is not directory\"$",
        r"`\1`: file is not directory",
    ),
    (r": must build at directory: .*$", ""),
    (r": node contents: .*", ""),
    (
        r"^map\[string\]interface \{\}\(nil\): yaml: unmarshal errors:\s+line \d+: mapping key \"([^\"]+)\" already defined at line \d+.*$",
        r"duplicate key `\1`",
    ),
    (r"^error (?:unmarshaling JSON: while decoding JSON|converting YAML to JSON): (?:json: )?", "a file of `configurations`: "),
    (r"map\[string\]interface \{\}\(nil\): ", ""),
    (r" in object \{.*$", ""),
    (r"trouble configuring builtin (\w+) with config: `.*?`: ", ""),
    (r" in File: \S+$", ""),
    (
        r"loading KV pairs: (?:file sources|env source files): "
        r"\[(?:[^]]* )?((?:[^]\s=]+=)?(?:[^]\s]*/)?([^]\s/]+))(?: [^]]*)?\]: (?=security; file '(?:[^']*/)?\2')",
        r"`\1`: ",
    ),
    (r"security; file '[^']*' is not in or below '[^']*'", "the file is not in or below the folder of its kustomization"),
    (r"evalsymlink failure on '[^']*?([^'/]*)' ?: .*", r"`\1` does not exist"),
    (r" &\{0x[^}]*\}: ", ": "),  # an address in kustomize's memory, another one each time
    (r'id resid\.ResId\{.*?Kind:"(\w+)".*?Name:"([^"]*)"[^}]*\}', r"\1 `\2`"),
    (r"\"?([A-Za-z]\w*)\.[\w\[\]]+\.[\w.\-\[\]]*/([\w.\-]+?)\.\[?[\w-]+\]?(?![\w.])\"?", r"\1 `\2`"),
    (r"^no resource matches (strategic merge patch .*?): no matches for .*$", r"no resource matches the \1"),
    (r"^(no matches for Id .*?); failed to find unique target.*$", r"\1"),
    (r" with the following GVK \[.*\]", " of a Deployment, ReplicaSet, ReplicationController or StatefulSet"),
    (r" Use --debug flag to render out invalid YAML$", ""),  # an option of helm
    (r"\S*(?:internal\.)?config\.kubernetes\.io/\S*", ""),
    (r"^accumulation err='.*?': (?=expected)", ""),
]
#: What a message of another cause says: options of the builder, its release, files that another program may write before.
_ELSEWHERE = re.compile(r"not in or below the folder|unknown field|does not exist$|no such file|evalsymlink|git|plugin|exec|helm|http")


def failure_in(printed: str, root: str, shown: Callable[[str], str]) -> FailedBuild:
    """Return the failure that a builder prints for a kustomization.

    *shown*: the path that users know of a real one.
    """
    lines = [line for line in printed.splitlines() if line and not re.match(r"# Warning|\d{4}/\d\d/\d\d ", line)]
    quoted = re.search(r'err="((?:\\.|[^"])*)"', printed)
    text = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else " ".join(lines).removeprefix("Error: ").removeprefix("error: ")
    folders = _FOLDER.findall(text)
    if inside := re.search(r'accumulateDirectory: "(.*)"$', text):
        text = inside[1].replace('\\"', '"')
    for pattern, by in _SAID:
        text = re.sub(pattern, by, text)
    text = re.sub(
        r"/[\w./@+-]*\w", lambda found: shown(found[0]) if os.path.isabs(found[0]) and os.path.exists(found[0]) else found[0], text
    )
    return FailedBuild(_shortened(text), folders[-1] if folders else root, not _ELSEWHERE.search(text))


def _shortened(text: str) -> str:
    """A text of a reasonable length, which ends with a whole word."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rpartition(' ')[0]} ..."


# Where the cause is.


def place_of(failure: FailedBuild, layers: Sequence[Layer], shown: Mapping[str, str]) -> Mark:
    """Return the line of a kustomization that a failure is about, or its first line.

    *layers*: the kustomization that cannot be built, and then those that it is built of. *shown*: the path that users know of a real one.
    """
    first = layers[0]
    mark = None
    if key := _KEY_SET_TWICE.search(failure.why):
        problems = (problem for each in layers for problem in _keys_set_twice(each, shown))
        mark = next((each.mark for each in problems if f"`{key[1]}`" in each.message), None)
    mark = mark or _place_of_value(first, failure.why, _path(first, shown))
    words = list(_words_of(failure.why))
    for layer in layers if _OF_CONFIGURATIONS.search(failure.why) else ():
        mark = mark or _place_in_configurations(layer, words, shown)
    for layer in layers if _AT_THE_END.search(failure.why) else [first]:
        mark = mark or _place_in(layer, words, _path(layer, shown))
    lines = first.files.text(first.references.path).split("\n")
    for said, field in _FIELDS:
        if not mark and re.search(said, failure.why) and (found := _line_with(field, lines)) is not None:
            mark = _mark(_path(first, shown), lines, *found)
    return mark or Mark(_path(first, shown), 1, 1)


_KEY_SET_TWICE = re.compile(r"^duplicate key `(.*)`$")
#: What a message says that is about objects after all kustomizations have changed them, so that it names no folder.
_AT_THE_END = re.compile(r"\bvar '\{")


_OF_OTHER_TYPE = re.compile(r"^invalid Kustomization: json: cannot unmarshal (\w+).* into Go struct field \w+\.([\w.]+) of type")
_IS_UNKNOWN = re.compile(r'^invalid Kustomization: json: unknown field "(.*)"$')


def _place_of_value(layer: Layer, why: str, path: str) -> Mark | None:
    """Return the place of the value of a kustomization that has another type, is unknown or empty. If none has, return None."""
    document = next(iter(layer.files.documents(path)), None)
    found: Path | None = None
    if not document:
        return None
    if (wrong := _OF_OTHER_TYPE.search(why)) is not None:
        steps = [step for step in wrong[2].split(".") if step[:1].islower()]  # the others are types of Go
        values = _values_at(document.data, steps, ())
        found = next((at for at, value in values if _JSON_TYPES.get(type(value)) == wrong[1]), None)
    elif (unknown := _IS_UNKNOWN.search(why)) is not None:
        found = next((at for at in _unknown_fields(document.data, FIELDS, ()) if at[-1] == unknown[1]), None)
    elif why == "an entry is empty":
        entries = (found for field in LISTS for found in _values_at(document.data, [field], ()))
        found = next((at for at, value in entries if len(at) > 1 and not value), None)
    return document.nearest(found).place() if found else None


_JSON_TYPES = {str: "string", int: "number", float: "number", bool: "bool", dict: "object", list: "array"}


def _values_at(data: Any, steps: Sequence[str], path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the values at some fields of all items of lists, and all values inside of them."""
    if not steps:
        yield path, data
    if isinstance(data, list):
        for at, each in enumerate(data):
            yield from _values_at(each, steps, (*path, at))
    elif isinstance(data, dict):
        for key in data if not steps else data.keys() & {steps[0]}:
            yield from _values_at(data[key], steps[1:], (*path, key))


def _unknown_fields(data: Any, fields: Fields, path: Path) -> Iterator[Path]:
    """Yield the paths of the fields that kustomize does not know."""
    if isinstance(data, list):
        for at, each in enumerate(data):
            yield from _unknown_fields(each, fields, (*path, at))
    elif isinstance(data, dict):
        for key, each in data.items():
            if key not in fields:
                yield *path, key
            elif inside := fields[key]:
                yield from _unknown_fields(each, inside, (*path, key))


#: What a message says that is about a file of `configurations`, or a field that one adds.
_OF_CONFIGURATIONS = re.compile(r"^a file of `configurations`|fieldSpec: conflicting fieldspecs|^considering field '")


def _place_in_configurations(layer: Layer, words: Sequence[str], shown: Mapping[str, str]) -> Mark | None:
    """Return the place of the first error in the YAML of a kustomization's configurations, or of a word. If there is none, return None."""
    for name in texts(layer.data, "configurations"):
        real = joined(layer.folder, name)
        path = shown.get(real) or os.path.relpath(real)
        text = layer.files.text(real) if os.path.isfile(real) else ""
        wrong = next((each.mark for each in read(text, file=path)[1] if each.severity == "error"), None)
        lines = text.split("\n")
        found = next(filter(None, (_line_with(word, lines) for word in words)), None)
        if wrong or found:
            return wrong or (found and _mark(path, lines, *found))
    return None


def _keys_set_twice(layer: Layer, shown: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield the problem of each key that the patches and manifests of a kustomization set twice."""
    path = _path(layer, shown)
    for document in layer.files.documents(path)[:1]:
        yield from keys_set_twice(document, path, layer.files)
    for real in layer.references.manifests:
        problems = read(layer.files.text(real), file=shown.get(real) or os.path.relpath(real))[1]
        yield from (each for each in problems if each.rule == "duplicate-key")


def _path(layer: Layer, shown: Mapping[str, str]) -> str:
    """Return the path of a kustomization that users know."""
    return shown.get(layer.references.path) or os.path.relpath(layer.references.path)


def _place_in(layer: Layer, words: Sequence[str], path: str) -> Mark | None:
    """Return the entry of a kustomization that has one of some words, or names a file that does. If there is none, return None."""
    lines = layer.files.text(layer.references.path).split("\n")
    for word in words:
        if (found := _line_with(word, lines)) is not None:
            return _mark(path, lines, *found)
    for name in (name for field in LISTS for name in texts(layer.data, field)):
        if os.path.basename(name) in words and (found := _line_with(name, lines)) is not None:
            return _mark(path, lines, *found)
    for name in (*patches_of(layer.data), *(str(each.get("path") or "") for each in structs(layer.data, "replacements"))):
        part = joined(layer.folder, name)
        content = layer.files.text(part).split("\n") if name and "\n" not in name and os.path.isfile(part) else []
        if any(_line_with(word, content) is not None for word in words) and (found := _line_with(name, lines)) is not None:
            return _mark(path, lines, *found)
    return None


#: Words of messages, and the field of a kustomization that they are about.
_FIELDS = [
    ("merge patch|no matches for Id", "patchesStrategicMerge"),
    ("merge patch|operation|path", "patches"),
    ("replacement|cannot decode !!", "replacements"),  # which write text into a field that was a number
]


def _words_of(why: str) -> Iterator[str]:
    """What a message quotes, which a kustomization may say: paths of fields and files, and names."""
    yield from (f"name: {name}" for name in re.findall(r"(?:configmap|secret) (\S+) illegally repeats", why))
    yield from re.findall(r'"([^"]+)"', why)
    yield from re.findall(r"path: '?(/[^\s':]+)", why)
    for name in re.findall(r"`([^`]+)`", why):
        yield name
        yield f"name: {name}"
    yield from (f"name: {name}" for name in re.findall(r"with name (\S+)|var '\{(\S+)", why) for name in name if name)
    yield from re.findall(r" \[([\w./-]+)\]", why)
    yield from re.findall(r"considering field '([^']+)'", why)
    yield from (f"{name[:1].lower()}{name[1:]}" for name in re.findall(r"failed to merge (\w+)", why))
    yield from re.findall(r"Go struct field [\w.]*?(\w+) of type", why)


def _line_with(word: str, lines: Sequence[str]) -> tuple[int, str] | None:
    """The number of the first line with a word that is no part of a longer one, and the word."""
    pattern = re.compile(rf"(?<![\w./-]){re.escape(word)}(?![\w/-])")
    return next(((number, word) for number, line in enumerate(lines, 1) if pattern.search(line)), None)


def _mark(path: str, lines: Sequence[str], number: int, word: str) -> Mark:
    column = lines[number - 1].index(word) + 1
    return Mark(path, number, column, number, column + len(word))
