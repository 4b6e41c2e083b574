"""The combinations of a matrix's values, the places where `${name}` stands for one, and the names of jobs made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Path, value_at
from jobspec.diagnostics.wording import as_text
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.scalars import resolve
from jobspec.go.values import structs
from jobspec.kubernetes.problems import closest
from jobspec.operators.trainer.runtimes import nodes_of
from jobspec.operators.workloads import roles_in
from jobspec.overlays.load import pieces

#: A matrix's values of one combination by name: text as it is spelt, or a boolean.
Values = Mapping[str, str | bool]
LIMIT = 10_000  # variants of a project


def size_of(matrix: MarkedTree | None) -> int:
    """Return the number of combinations. Without a matrix, it is one."""
    return prod(len(values.value or ()) for values in matrix.value.values()) if matrix else 1


def combinations(matrix: MarkedTree | None, spelled: Spelling) -> Iterator[Values]:
    """Yield the combinations of a matrix's values. The last name's values change fastest.

    Without a matrix, there is a single empty combination.
    """
    named = matrix.value if matrix else {}
    values = [[each.value if isinstance(each.value, bool) else spelled(each) for each in listed.value] for listed in named.values()]
    for combination in product(*values):
        yield dict(zip(named, combination, strict=True))


def matrix_words(values: Values) -> list[str]:
    """Write the matrix's values of one combination, such as `lr=0.1`."""
    return [f"{name}={str(each).lower() if isinstance(each, bool) else each}" for name, each in values.items()]


def matrix_mistakes(matrix: MarkedTree | None, parts: Sequence[MarkedTree], spelled: Spelling) -> Iterator[Diagnostic]:
    """Yield the problems of a matrix, and of the names in *parts* of its variant."""
    names = matrix.value if matrix else {}
    misread = list(_misread(names, spelled))
    if misread:
        yield from misread  # `${n}` is then no name of the matrix, for the same reason
        return
    used: set[str] = set()
    for name, place in (found for part in parts for found in names_in(part)):
        used.add(name)
        if name not in names:
            hint = closest(name, names) or "write `$${` for a literal `${`"
            yield Diagnostic("invalid-project", f"`${{{name}}}` is not a name of the matrix", place, hint=hint)
    for name, values in names.items():
        if name not in used:
            hint = f"write `${{{name}}}` where its value belongs"
            yield Diagnostic("invalid-project", f"`{name}` of the matrix is not used", values.place(), hint=hint)
        if not values.value:
            yield Diagnostic("invalid-project", f"`{name}` of the matrix has no value", values.place())
        for value in values.value or ():
            if value.value is None or isinstance(value.value, (dict, list)):
                yield Diagnostic("invalid-project", f"a value of `{name}` must be a string, a number or a boolean", value.place())


def _misread(names: Mapping[str, MarkedTree], spelled: Spelling) -> Iterator[Diagnostic]:
    """An error for each name that YAML reads as a boolean or a number, and not as it is spelt."""
    for name, values in names.items():
        place = values.key or values.mark
        spelt = spelled.at(place)
        value = resolve(spelt)
        if spelt != name and not isinstance(value, str) and name == as_text(value):
            kind = "boolean" if isinstance(value, bool) else "number"
            message = f"the name `{spelt}` is read as {name}: without quotes it is a {kind} in Kubernetes' YAML"
            yield Diagnostic("invalid-project", message, place, hint=f'write `"{spelt}"`')


def texts_in(tree: MarkedTree) -> Iterator[tuple[Mark, str]]:
    """Yield the strings inside a value, its keys among them, each with its place."""
    if isinstance(tree.value, str):
        yield tree.mark, tree.value
    for child in tree.value if isinstance(tree.value, list) else ():
        yield from texts_in(child)
    for key, child in tree.value.items() if isinstance(tree.value, dict) else ():
        yield child.key or child.mark, key
        yield from texts_in(child)


def names_in(tree: MarkedTree) -> Iterator[tuple[str, Mark]]:
    """Yield the names in `${}` inside a value and its keys, each with its place."""
    return ((name, mark) for mark, text in texts_in(tree) if "${" in text for name, is_name in pieces(text) if is_name)


def filled(tree: MarkedTree, values: Values, layer: str = "") -> MarkedTree:
    """Replace each `${name}` in a value by the matrix's value. The marks get the *layer*.

    A text that is one whole `${name}` becomes a boolean if the matrix has one.
    """
    value = tree.value
    if isinstance(value, dict):
        value = {str(_substituted(key, values)): filled(child, values, layer) for key, child in value.items()}
    elif isinstance(value, list):
        value = [filled(child, values, layer) for child in value]
    elif isinstance(value, str):
        value = _substituted(value, values)
    return MarkedTree(value, in_layer(tree.mark, layer), tree.key and in_layer(tree.key, layer))


def filled_text(tree: MarkedTree, values: Values, layer: str = "") -> MarkedTree:
    """Replace each `${name}` in a string. The result is a string, whatever the matrix has."""
    found = filled(tree, values, layer)
    return found.with_value(as_text(found.value))


def _substituted(text: str, values: Values) -> str | bool:
    if "${" not in text:
        return text
    parts = pieces(text)
    found = [values[part] if is_name else part for part, is_name in parts]
    return found[0] if len(found) == 1 else "".join(map(as_text, found))


class VariantMark(Mark):
    """A place in a project, as part of a variant's own layer."""

    __slots__ = ()

    layer_kind = "variant"


def in_layer(mark: Mark, layer: str) -> Mark:
    """Return the place as part of a variant's own layer."""
    return VariantMark(mark.file, mark.line, mark.column, mark.end_line, mark.end_column, layer)


# Names of jobs: DNS labels that leave room for what the operators append, with a hash of the job's spec where it is asked for.
#
# Follows `GenGeneralName`, github.com/kubeflow/training-operator pkg/core, 1.9, and `jobSetWebhook.ValidateCreate`,
# sigs.k8s.io/jobset pkg/webhooks, 0.12: a Service of a PyTorchJob is `<job>-worker-<index>`, a pod of a JobSet
# `<job>-<replicated job>-<job index>-<index>-<5 characters>`. Those of a LeaderWorkerSet are `<name>-<group>-<index>`, and a label has the
# name of a group's StatefulSet and a hash. KubeRay and the API server (CronJob) say how long a name may be.


_MOST = 63  # characters of a DNS label
_HASH = 8  # hexadecimal digits
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_ALLOWED = _LETTERS | frozenset("0123456789-")
#: Fields that change in place, without a new run: a job is suspended and resumed.
_UNHASHED = (("suspend",), ("runPolicy", "suspend"))


def label_of(text: str) -> str:
    """Make a DNS-1035 label of any length from a text: `mnist-0.01-1` gives `mnist-0-01-1`.

    If there is no letter or digit in the text, the label is empty.
    """
    label = "".join(each if each in _ALLOWED else "-" for each in text.lower()).strip("-")
    return label if not label or label[0] in _LETTERS else f"job-{label}"


def hashed(label: str, job: Document, room: int) -> str:
    """Return a label that ends in the hash of a job's spec.

    If the label would not leave the operator its room, it is cut; its first letter stays.
    """
    return f"{label[: max(room - _HASH - 1, 1)].rstrip('-')}-{spec_hash(job)}"


def spec_hash(job: Document) -> str:
    """Hash `apiVersion`, `kind` and `spec` of a job as they are rendered, without `suspend`.

    Metadata and companions do not count.
    """
    from hashlib import sha256
    from json import dumps

    spec = job.data.get("spec")
    for path in _UNHASHED:
        spec = _without_path(spec, path)
    text = dumps([job.api_version, job.kind, spec], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:_HASH]


def _without_path(data: Any, path: tuple[str, ...]) -> Any:
    if not isinstance(data, dict) or path[0] not in data:
        return data
    rest = {name: value for name, value in data.items() if name != path[0]}
    inner = _without_path(data[path[0]], path[1:]) if len(path) > 1 else {}
    return {**rest, path[0]: inner} if inner else rest  # an emptied mapping counts as absent


def max_name_length(job: Document, runtime: Document | None) -> int:
    """Return the longest name of a job that leaves room for names of Services and pods.

    If *runtime* is None, the runtime's job counts as `node`.
    """
    if job.group_kind in _LONGEST:
        return _LONGEST[job.group_kind]
    if job.group_kind in (*kinds.TRAINING_JOBS, kinds.MPIJOB):
        return _MOST - max(len(f"-{role.name.lower()}-{_last_index(job, role.path, role.name)}") for role in roles_in(job))
    if job.group_kind == kinds.JOB:
        return _MOST - len(f"-{_number(job.data, 'spec', 'completions') - 1}")
    if job.group_kind == kinds.LEADER_WORKER_SET:
        return _MOST - len(f"-{_number(job.data, 'spec', 'replicas') - 1}-{'a' * _REVISION}")
    if job.group_kind == kinds.JOBSET:
        return _MOST - max((len(_of_replicated_job(each)) for each in structs(job.data, "spec", "replicatedJobs")), default=0)
    nodes = nodes_of(job.data, runtime)
    names = [role.name for role in roles_in(runtime)] if runtime else ["node"]
    return _MOST - max(len(f"-{name}-0-{nodes - 1 if name == 'node' else 0}-abcde") for name in names)


#: The most characters of the name of an object of a kind.
_LONGEST: dict[GroupKind, int] = {
    kinds.CRON_JOB: 52,
    kinds.RAY_CLUSTER: 53,
    kinds.RAY_JOB: 47,
    kinds.RAY_SERVICE: 47,
    kinds.RAY_CRON_JOB: 41,
}
_REVISION = 10  # characters of the hash of a StatefulSet's revision


def _last_index(job: Document, path: Path, role: str) -> int:
    """The highest index that a pod of a role can have, with elastic training too."""
    elastic = _number(job.data, "spec", "elasticPolicy", "maxReplicas") if role == "Worker" else 1
    return max(_number(job.data, *path, "replicas"), elastic) - 1


def _number(data: Any, *path: str | int) -> int:
    """A number of pods at a path; 1 if none is written."""
    found = value_at(data, path)
    return int(found) if isinstance(found, int) and found > 0 else 1


def _of_replicated_job(replicated: Any) -> str:
    """The end of the longest name of a pod of a replicated job."""
    completions = _number(replicated, "template", "spec", "completions")
    return f"-{replicated.get('name', '')}-{_number(replicated, 'replicas') - 1}-{completions - 1}-abcde"


# Scalars as they are spelt in a file: `0.10` stays `0.10`, and `1e-3` stays `1e-3`.


class Spelling:
    """The spelling of scalars, by their places in a file."""

    def __init__(self, text: str) -> None:
        self._lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def __call__(self, scalar: MarkedTree) -> str:
        """Return the text of a scalar. A number has the text with which it is spelt.

        If a number is behind an alias or a tag, its text is that of JSON.
        """
        value, mark = scalar.value, scalar.mark
        if isinstance(value, str):
            return value
        spelt = self.at(mark)
        if spelt and resolve(spelt) == value and type(resolve(spelt)) is type(value):
            return spelt
        return as_text(value)

    def at(self, mark: Mark) -> str:
        """Return the text of the file at a mark. If it has several lines, return an empty string."""
        line = self._lines[mark.line - 1] if 0 < mark.line <= len(self._lines) else ""
        return line[mark.column - 1 : mark.end_column - 1] if mark.line == mark.end_line else ""
