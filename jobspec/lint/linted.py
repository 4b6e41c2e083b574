"""What rules look at: a document among all others of the run, and a job or runtime with the pods that its operator creates."""

from __future__ import annotations

from functools import cache, cached_property

from jobspec import kinds
from jobspec.diagnostics import Diagnostic, JobspecError, Path, grouped, marks_at
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.go.quantities import quantity
from jobspec.kinds import PRIORITY_CLASS, PYTORCHJOB, TRAINJOB, GroupKind
from jobspec.operators.expansion import ExpandedJob, ExpandedRole, expand
from jobspec.operators.trainer.runtimes import GROUP, RuntimeReference, runtime_of
from jobspec.programs import command_lines
from jobspec.workloads import is_workload, released, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
    from typing import Any

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Sees

    #: Group, kind, namespace, name, and the folder of the file.
    Identity = tuple[str, str, str, str, str]
    #: A flag's name, its value, and the place of the value, which is the flag's own where it is joined to it or there is none.
    Flag = tuple[str, str, MarkedTree]


class LintedDocument:
    """A document, and all others of the run."""

    __slots__ = ("all_text", "documents", "given", "runtime", "seen_as")

    def __init__(self, given: Document, documents: Documents) -> None:
        self.given = given
        self.documents = documents
        self.seen_as: tuple[Sees, ...] = ("document", "runtime") if given.group_kind in kinds.RUNTIMES else ("document",)
        """What it is to rules."""
        self.all_text = ""
        """Of a job: all keys and texts of it and its runtime, in small letters."""
        self.runtime: Document | None = None
        """Of a TrainJob, and of a runtime that is looked at alone with its pods."""

    def get(self, *path: str | int) -> Any:
        """The value at a path, None where there is none."""
        return value_at(self.given.data, path)


class LintedJob(LintedDocument):
    """A job and its pods, or a runtime and the pods of a job that says nothing but its name."""

    def __init__(
        self, given: Document, documents: Documents, expanded: ExpandedJob, runtime: Document | None, refused: Sequence[Diagnostic]
    ) -> None:
        super().__init__(given, documents)
        self.runtime = runtime
        self.expanded = expanded
        self.refused = refused
        """Of a runtime that is looked at alone: errors for which the operator, or the server behind it, makes nothing of a job."""
        self.is_pytorchjob = given.group_kind == PYTORCHJOB
        self.is_job = given.group_kind in (PYTORCHJOB, TRAINJOB)
        kind: Sees = "PyTorchJob" if self.is_pytorchjob else "TrainJob"
        self.seen_as = ("pods", "job", kind) if self.is_job else ("pods", "runtime's pods")
        self.all_text = _keys_and_texts(given.data, runtime.data if runtime else None)
        self.tree = with_marks(given.data, given.marks)
        """The given document with its marks."""
        self.roles: Sequence[ExpandedRole] = expanded.roles
        """The roles that have pods."""
        self.training = [each for each in self.roles if each.training]
        """The roles that train."""
        self.training_pods = sum([each.count for each in self.training])
        """How many pods train."""
        self.containers = [
            LintedContainer(each, role, is_init=field == "initContainers")
            for role in self.roles
            for field in ("initContainers", "containers")
            for each in items(role.pod_tree.get("spec", field))
        ]
        """The containers of each role, in the order in which they start."""
        self.training_containers = [each for each in self.containers if each.trains]
        """The container that trains, of each role that has one."""
        self.gpus = sum([each.gpus * each.role.count for each in self.containers])
        """The number of whole GPUs of all pods together."""
        specs = self.tree.get("spec", "pytorchReplicaSpecs") if self.is_pytorchjob else None
        found = [(role, specs.value.get(role.name)) for role in self.roles] if specs else []
        self.replica_specs = [(role, spec) for role, spec in found if spec and isinstance(spec.value, dict)]
        """Of a PyTorchJob: its roles, each with what the job says of it."""

    def in_runtime(self, *path: str) -> Any:
        """The value at a path of the runtime, None where there is none."""
        return value_at(self.runtime.data, path) if self.runtime else None


def linted_job(given: Document, documents: Documents) -> LintedJob | None:
    """An accepted job or runtime as rules look at it; None for other documents, and for a job that cannot be expanded."""
    target = documents.target
    if given.group_kind in kinds.RUNTIMES:
        job = _stand_in(given)
        referred = [given]
    elif is_workload(given):
        job = released(given)
        referred = documents.referred(given)
    else:
        return None
    runtime = runtime_of(job, referred, target) if job.group_kind == TRAINJOB else None
    try:
        # what a server refuses of a job is an outcome
        expansion = expand(job, referred, target, first_and_last_only=True, skip_server_checks=given is not runtime)
    except JobspecError:  # too many pods to look at
        return None
    refused = [each for each in expansion.diagnostics if each.severity == "error"]
    return LintedJob(given, documents, ExpandedJob(job, expansion.objects, target, expansion.counts), runtime, refused)


def _keys_and_texts(*values: Any) -> str:
    """The keys of all mappings in some values, and all texts, in small letters."""
    found: list[str] = []
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found += value
            left += value.values()
        elif isinstance(value, list):
            left += value
    return "\n".join(found).lower()


def _stand_in(runtime: Document) -> Document:
    """The smallest TrainJob that uses a runtime; all of its values have the place of the runtime's name."""
    metadata = {"name": "job", **({"namespace": runtime.namespace} if runtime.namespace else {})}
    reference = {"apiGroup": runtime.group_kind[0], "kind": runtime.kind, "name": runtime.name}
    data = {"apiVersion": runtime.api_version, "kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": reference, "trainer": {}}}
    place = runtime.marks.nearest(("metadata", "name")).place()
    return Document(data, lambda: marks_at(data, place), file=runtime.file, index=runtime.index)


# A container: what it asks for, and what it runs.


#: Parts of names of accelerators that the trainer does not count as GPUs.
OTHER_ACCELERATORS = ("/mig-", "/tpu", "/ascend", "/neuron", "/gaudi", "/npu", "/mlu", "/dcu")
#: Parts of names of resources that count the memory or cores of a shared GPU.
_PARTS = ("mem", "core", "percentage", "ratio")
_ONE = 1_000_000_000


class LintedContainer:
    """A container of a role, in its first pod."""

    def __init__(self, tree: MarkedTree, role: ExpandedRole, *, is_init: bool) -> None:
        self.tree = tree
        self.role = role
        self.is_init = is_init
        fields = tree.value
        self.name: str = fields["name"].value
        self.trains = self.name == role.training and not is_init
        """Whether it is the one that trains."""
        self.image: MarkedTree | None = fields.get("image")
        asked = fields.get("resources")
        self.resources = {name: each for field in ("requests", "limits") for name, each in asked.entries(field)} if asked else {}
        """The names of what is asked for, each with its limit or else its request."""
        self.gpus = sum([amount(tree, name) // _ONE for name in self.resources if is_gpu(name)])
        """The number of whole GPUs."""

    @cached_property
    def words(self) -> Sequence[tuple[str, MarkedTree]]:
        """The words of what is run, those of a shell's command string each on its own, with the place of each."""
        words = [each for field in ("command", "args") for each in items(self.tree.get(field))]
        given = [(str(each.value), each) for each in words if isinstance(each.value, (str, int, float))]
        is_in_shell = given and command_lines.is_shell(given[0][0])
        return [(word, each) for said, each in given for word in _in_shell(said)] if is_in_shell else given

    @property
    def gpu_place(self) -> MarkedTree:
        """Where the GPUs are asked for."""
        return next((tree for name, tree in self.resources.items() if is_gpu(name)), self.tree)

    @property
    def other_accelerators(self) -> list[tuple[str, MarkedTree, int]]:
        """Accelerators that are no whole GPUs: name, place and number."""
        named = [(name, tree) for name, tree in self.resources.items() if any(part in name.lower() for part in OTHER_ACCELERATORS)]
        return [(name, tree, amount(self.tree, name) // _ONE) for name, tree in named]

    @property
    def variables(self) -> list[tuple[str, MarkedTree]]:
        """The environment variables in their order, with those that the operator sets."""
        return [(text(each, "name"), each) for each in items(self.tree.get("env"))]

    def variable(self, name: str) -> MarkedTree | None:
        """The variable that counts: the last of its name."""
        return next((each for known, each in reversed(self.variables) if known == name), None)

    @property
    def launcher(self) -> str:
        """What starts the processes, by the command line: `torchrun`, `other`, or empty where an image or a script decides."""
        if not items(self.tree.get("command")):
            return ""
        programs = [command_lines.file_name(word) for word, _ in self.words]
        if any(each in command_lines.NAMES for each in programs):
            return "torchrun"
        return "other" if any(each.startswith("python") for each in programs) else ""

    @property
    def flags(self) -> list[Flag]:
        """The flags of what is run, with `-` in place of `_`; the value is empty where none follows."""
        found = []
        for number, (word, tree) in enumerate(self.words):
            if word.startswith("--") and len(word) > 2:
                name, equals, value = word.partition("=")
                follows, behind = self.words[number + 1] if number + 1 < len(self.words) else ("", tree)
                if not equals and follows and not follows.startswith("-"):
                    value, tree = follows, behind
                found.append((name.replace("_", "-"), value.strip("\"'"), tree))
        return found

    @property
    def torchrun_flags(self) -> list[Flag]:
        """The options between `torchrun` and the program that it starts, by their full names."""
        if self.launcher != "torchrun":
            return []
        start = next(number for number, (word, _) in enumerate(self.words, 1) if command_lines.file_name(word) in command_lines.NAMES)
        found = command_lines.options_of([word for word, _ in self.words[start:]])
        return [(each.option, (each.value or "").strip("\"'"), self.words[start + each.value_at][1]) for each in found if each.option]

    def mount_around(self, path: str) -> MarkedTree | None:
        """The volume mount that a path is in, the innermost; None where it is in none."""
        mounts = [(text(each, "mountPath").rstrip("/"), each) for each in items(self.tree.get("volumeMounts"))]
        around = [(len(place), each) for place, each in mounts if place and f"{path.rstrip('/')}/".startswith(f"{place}/")]
        return max(around, key=lambda each: each[0])[1] if around else None


def volumes_of(role: ExpandedRole) -> list[MarkedTree]:
    """The volumes of a role's pods."""
    return items(role.pod_tree.get("spec", "volumes"))


def written(*trees: MarkedTree | None) -> MarkedTree:
    """The first of some values that a file wrote; the last one where none is written by a file."""
    last = trees[-1]
    assert last
    return next((each for each in trees if each and each.mark.line), last)


def is_gpu(resource: str) -> bool:
    """Whether a resource is a GPU as the trainer counts them, and no memory or cores of one, which are not counted in GPUs."""
    name = resource.lower()
    return "gpu" in name and "/" in name and not any(part in name.rpartition("/")[2] for part in _PARTS)


def amount(container: MarkedTree, resource: str) -> int:
    """How much of a resource is asked for, by the limit or else the request, in billionths; 0 where neither says it."""
    return nanos(text(container, "resources", "limits", resource) or text(container, "resources", "requests", resource))


def bytes_of(said: str) -> int:
    """A quantity of memory in bytes; 0 where the text is none."""
    return nanos(said) // _ONE


def nanos(said: str) -> int:
    """A quantity in billionths; 0 where the text is none."""
    try:
        return quantity(said).nanos
    except ValueError:
        return 0


def _in_shell(said: str) -> Iterator[str]:
    """The words of a shell's text, without quotes, comments and what separates commands."""
    for line in said.splitlines():
        for part in line.split():
            if part.startswith("#"):
                break
            word = part.lstrip("(").rstrip(";&|)\\").strip("\"'")
            if word:
                yield word


# All documents of a run, whatever their files and order: what jobs refer to is looked up here.


class _Index:
    """Documents by kind, by file and by name."""

    __slots__ = ("by_file", "by_kind", "by_name")

    def __init__(self, documents: Sequence[Document]) -> None:
        self.by_kind: Mapping[GroupKind, Sequence[Document]] = grouped(documents, lambda each: each.group_kind)
        self.by_file: Mapping[str, Sequence[Document]] = grouped(documents, lambda each: each.file)
        self.by_name: Mapping[tuple[GroupKind, str], Sequence[Document]] = grouped(documents, lambda each: (each.group_kind, each.name))


class Documents:
    """The documents, and behind them the objects of the cluster, by kind, by file and by name."""

    def __init__(
        self, documents: Sequence[Document], cluster: Cluster, *, further: Iterable[GroupKind] = (), syncs: Mapping[str, str] = {}
    ) -> None:
        """*further*: the kinds of what stands in the files besides, such as a `kustomization.yaml`, which has no name.

        *syncs*: of files that an engine applies together, their folder.
        """
        self.cluster = cluster
        self.target = cluster.target
        self._further = set(further)
        self._own = _Index(documents)
        self._there = cluster.once("documents", lambda: _Index(cluster.objects))
        self._first: dict[Identity, Document] = {}
        self._in_namespace = cache(self._found_in_namespace)
        self._names: Callable[[GroupKind, str], Sequence[str]] = cache(
            lambda kind, namespace: sorted({each.name for each in self._in_namespace(kind, namespace)})
        )
        self._selectors = cache(lambda kind, path, namespace: Selectors(self._in_namespace(kind, namespace), path))
        self._syncs = syncs
        for document in documents:
            self._first.setdefault(self._key(document), document)

    def of_kind(self, kind: GroupKind) -> Sequence[Document]:
        """The documents of a kind."""
        return _both(self._own.by_kind.get(kind, ()), self._there.by_kind.get(kind, ()))

    def of_file(self, file: str) -> Sequence[Document]:
        """The documents of a file."""
        return _both(self._own.by_file.get(file, ()), self._there.by_file.get(file, ()))

    def kinds(self) -> Set[GroupKind]:
        """The kinds that there are in the files."""
        return self._own.by_kind.keys() | self._further

    def has(self, kinds: Iterable[GroupKind]) -> bool:
        """Whether a document is of one of these kinds."""
        return any(kind in self._own.by_kind or kind in self._there.by_kind for kind in kinds)

    def names_in_same_namespace(self, document: Document, kind: GroupKind) -> Sequence[str]:
        """The names of a kind in the namespace of a document, sorted."""
        return self._names(kind, document.namespace)

    def selectors(self, document: Document, kind: GroupKind, path: Path) -> Selectors:
        """What of a kind selects pods in the namespace of a document, by the labels at a path."""
        return self._selectors(kind, path, document.namespace)

    def _found_in_namespace(self, kind: GroupKind, namespace: str) -> list[Document]:
        return [each for each in self.of_kind(kind) if _may_be_in(each, namespace)]

    @cached_property
    def used_runtimes(self) -> Set[tuple[str, str]]:
        """The kinds and names of runtimes that TrainJobs refer to."""
        return {(str(ref.kind), str(ref.name)) for ref in (RuntimeReference(each.data) for each in self.of_kind(TRAINJOB))}

    def referred(self, job: Document) -> list[Document]:
        """What a job may refer to, that of its own file first: runtimes of the name that it says, and priority classes."""
        found = [*self.of_kind(PRIORITY_CLASS)]
        if job.group_kind == TRAINJOB:
            ref = RuntimeReference(job.data)
            found = [*self.of_name((GROUP, str(ref.kind)), str(ref.name)), *found]
        return sorted(found, key=lambda each: each.file != job.file)

    def named(self, document: Document, kind: GroupKind, name: str) -> Document | None:
        """The document of a kind and name in the namespace of another document, None where there is none."""
        found = [each for each in self.of_name(kind, name) if _may_be_in(each, document.namespace)]
        return next((each for each in found if each.namespace == document.namespace), found[0] if found else None)

    def of_name(self, kind: GroupKind, name: str) -> Sequence[Document]:
        """The documents of a kind and name, in whatever namespace."""
        return _both(self._own.by_name.get((kind, name), ()), self._there.by_name.get((kind, name), ()))

    def first(self, document: Document) -> Document:
        """The first document that is the same object, in its file or one that is applied with it: of the same kind, namespace and name."""
        return self._first[self._key(document)]

    def _key(self, document: Document) -> Identity:
        return (*document.group_kind, document.namespace, document.name, self._syncs.get(document.file, document.file))


def _both(own: Sequence[Document], there: Sequence[Document]) -> Sequence[Document]:
    return [*own, *there] if there else own


def _may_be_in(document: Document, namespace: str) -> bool:
    """Whether a document may be in a namespace: it has that one, or none."""
    return document.namespace in ("", namespace)


# Documents that select pods by their labels, such as Services and NetworkPolicies, looked up by these labels.


class Selectors:
    """The documents of a kind in a namespace, by the labels for which they look at pods."""

    __slots__ = ("_by_label", "_documents")

    def __init__(self, documents: Sequence[Document], path: Path) -> None:
        """*path*: where their labels stand."""
        self._documents = documents
        self._by_label: dict[tuple[str, str] | None, list[int]] = {}
        for number, document in enumerate(documents):
            labels = value_at(document.data, path)
            for label in labels.items() if isinstance(labels, dict) and labels else [None]:
                if label is None or isinstance(label[1], str):
                    self._by_label.setdefault(label, []).append(number)

    def with_label(self, name: str, value: str) -> Document | None:
        """The first that looks for a label, None where none does."""
        numbers = self._by_label.get((name, value))
        return self._documents[numbers[0]] if numbers else None

    def of(self, labels: Mapping[str, str]) -> list[Document]:
        """Those that may select these labels: they look for one of them, or for none by its value."""
        numbers = {number for label in (None, *labels.items()) for number in self._by_label.get(label, ())}
        return [self._documents[number] for number in sorted(numbers)]
