"""What operators' webhooks share: rules by release, names, values that Go cannot decode, and what a mutating webhook writes.

A rule is a generator over a workload that yields findings. Its function gives it its name, and the docstring its explanation. Webhooks see
the object without the defaults that an operator fills in later.
"""

from __future__ import annotations

from jobspec.apis.kinds import (
    CLUSTER_QUEUE,
    COMPONENTS,
    JOBSET,
    LEADER_WORKER_SET,
    MPIJOB,
    QUEUE_GROUP,
    QUEUED_TRAINING_JOBS,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    RESOURCE_FLAVOR,
    TRAINJOB,
    UNKNOWN,
)
from jobspec.apis.releases import QUEUES, Target, is_at_least, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Path
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.document import Document
from jobspec.go.formats import is_parsed_quantity, is_time
from jobspec.go.values import completed, decode_as_go, items, mapping, reencoded, structs
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_subdomain, generated_name
from jobspec.kubernetes.problems import describe
from jobspec.kubernetes.structural import filled
from jobspec.operators.workloads import JOBS, QUEUE, Workload, is_of_other_operator
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.apis.kinds import CompleteKinds, GroupKind
    from jobspec.kubernetes.verdict import Verdict


def findings(rules: Iterable[Rule], workload: Workload, target: Target, release: str) -> Iterator[tuple[str, Finding]]:
    """What rules find in a workload at a release of its operator, each with the name of its rule."""
    passed = {"": True}  # a limit -> whether the release is that one or came after it; most rules have the same limits
    for rule in rules:
        for limit in (rule.since, rule.until):
            if limit not in passed:
                passed[limit] = is_at_least(release, limit)
        if passed[rule.since] and not (rule.until and passed[rule.until]):
            for finding in rule.check(workload, target):
                yield rule.name, finding


# The answer of webhooks to a document: what rules find, as diagnostics, and the objects that were looked up.
class Objects(Record):
    """The objects on the server that a document can refer to."""

    in_file: Sequence[Document] = ()
    """The accepted objects of the same file."""
    elsewhere: Sequence[Document] = ()
    """The accepted objects of other files, and those of the cluster that webhooks look up."""
    refused: Sequence[Document] = ()
    """Refused objects: those of the same file, and those of other files that the document names."""
    complete: CompleteKinds = UNKNOWN
    """The kinds of which the server has no other objects."""


def diagnostics(rules: Iterable[Rule], workload: Workload, target: Target) -> list[Diagnostic]:
    """Return the findings of rules in a workload as diagnostics of its document."""
    document = workload.document
    release = target[COMPONENTS[document.api_version, document.kind]]
    return [document.diagnostic(each, name) for name, each in findings(rules, workload, target, release)]


# Names of jobs, which begin the names of Services and pods, and names of managers.
#
# Follows `NameIsDNS1035Label` and `IsDomainPrefixedPath`, k8s.io/apimachinery pkg/api/validation and pkg/util/validation, 0.36.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_PATH = _LETTERS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~%!$&'()*+,;=:")


def job_name(workload: Workload, target: Target) -> Iterator[Finding]:
    """The job's name begins the names of its pods and Services, so it has to be a DNS label of RFC 1035.

    That is at most 63 lower-case letters, digits and `-`, a letter first. The API server alone would also take dots and a digit first.
    """
    name, key = name_of(workload)
    why = bad_dns1035_label(name)
    if why:
        message = f"`{workload.document.data['metadata'][key]}` cannot be the name of a job: {why}"
        yield Finding(("metadata", key), message, field="metadata.name")


def name_of(workload: Workload) -> tuple[str, str]:
    """The object's name and its key in `metadata`; a `generateName` gets five more characters."""
    metadata = workload.document.data["metadata"]
    if metadata.get("name"):
        return metadata["name"], "name"
    return generated_name(metadata["generateName"]), "generateName"


def misnamed(path: Path, name: str, why_bad: Callable[[str], str], what: str) -> Iterator[Finding]:
    """The finding that a name cannot be *what* it is given as; none where *why_bad* has nothing against it."""
    if why := why_bad(name):
        yield Finding(path, f"`{name}` cannot be {what}: {why}")


def bad_manager(name: str) -> str:
    """Why *name* is no domain-prefixed path such as `example.com/team`; empty where it is one."""
    domain, _, path = name.partition("/")
    if bad_subdomain(domain) or not path:
        return "it must be a domain, `/` and a name"
    return "" if _PATH.issuperset(path) else "its name holds a character that no URL has"


# Values that the schema accepts and a webhook cannot decode into Go's types.
#
# Follows the decoders of the types: `Quantity`, `Time` and `IntOrString`, k8s.io/apimachinery pkg/api/resource, pkg/apis/meta/v1 and
# pkg/util/intstr, 0.36; `encoding/json` of Go for all others.


_INTEGERS = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_UNDECODABLE = "undecodable-value"
_EMPTY = {"array": "[]", "object": "{}", "string": '""'}


def undecodable_value(workload: Workload, target: Target) -> Iterator[Finding]:
    """A webhook reads quantities, times and port numbers as Go does, more strictly than the schema.

    An exponent is an integer of 64 bits (`1e3`, not `1e1.5`), a number that can be a name instead has 32 bits. A mutating webhook
    reads `status`, too, which the server drops only afterwards.
    """
    document = workload.document
    shape = shapes.load(document.api_version, document.kind, target)
    if shape:
        yield from _unreadable_values({**document.data, "status": None}, shape, ())
        if document.data.get("status") is not None and _has_defaulter(document, target, old=workload.old):
            yield from _mistyped(document.data["status"], shape.at(("status",)), ("status",))


def unlistable(document: Document, target: Target) -> list[Finding]:
    """Return what an operator without a webhook cannot decode of an object: it then lists no object of the kind, in any namespace."""
    nothing = f"it then makes nothing of any {document.kind}"
    return [Finding(each.at, f"{each.message}: {nothing}") for each in undecodable_value(Workload(document), target)]


def becomes_null(workload: Workload, target: Target) -> Iterator[Finding]:
    """A few optional fields are `null` once a mutating webhook has written the object, and the server refuses that. Write them out."""
    document, (sent, stored) = workload.document, workload.given
    shape = shapes.load(document.api_version, document.kind, target)
    if shape and is_rewritten(sent, target, old=stored):
        yield from _nulls(document.data.get("spec"), shape.at(("spec",)), ("spec",))


def _children(value: Any, shape: Shape, path: Path) -> Iterator[tuple[Any, Shape | None, Path]]:
    """The values in a mapping or list, each with its shape and path."""
    if isinstance(value, dict):
        fields = shape.fields
        for name, inner in value.items():
            yield inner, shape.values if fields is None else fields.get(name), (*path, Key(name) if fields is None else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield item, shape.items, (*path, index)


def _unreadable_values(value: Any, shape: Shape, path: Path) -> Iterator[Finding]:
    """The quantities, times and numbers in *value* that Go cannot read; *value* fits the schema."""
    if why := _unreadable(value, shape):
        yield Finding(path, f"the operator cannot decode {why}")
    for inner, child, inner_path in _children(value, shape, path):
        if child and child.parsed:
            yield from _unreadable_values(inner, child, inner_path)


def _unreadable(value: Any, shape: Shape) -> str:
    """The end of a sentence that says what Go cannot read, and why; empty where it can."""
    if isinstance(value, list) and shape.format == "date-time":
        return "a list as a time; only the API server accepts it"
    if isinstance(value, str) and shape.format == "quantity" and not is_parsed_quantity(value):
        return f"the quantity `{value}`, whose exponent is not a 64-bit integer"
    if isinstance(value, str) and shape.format == "date-time" and not is_time(value):
        return f"the time `{value}`, which would be one as `2026-01-31T12:00:00Z`"
    is_number = isinstance(value, int) and shape.type == "int-or-string" and shape.format != "quantity"
    return f"the number {value}, which needs more than 32 bits" if is_number and value not in _INTEGERS["int32"] else ""


def _mistyped(value: Any, shape: Shape | None, path: Path) -> Iterator[Finding]:
    """The values in *value* of another type than Go's; null and missing values are none."""
    if value is None or shape is None:
        return
    if shape.format == "quantity" and isinstance(value, float) and is_parsed_quantity(str(value)):
        return  # Go reads the digits of a number as it reads a text; only the schema wants an integer
    if not shapes.is_of_type(value, shape):
        yield Finding(path, f"the operator reads `status` before the server drops it, and cannot read this value of it: {describe(value)}")
    elif not _fits_go_type(value, shape):
        yield Finding(path, f"the operator reads `status` before the server drops it, and cannot read {describe(value)} there")
    else:
        for inner, child, inner_path in _children(value, shape, path):
            yield from _mistyped(inner, child, inner_path)


def _fits_go_type(value: Any, shape: Shape) -> bool:
    """Whether a value of the right type is an integer, a quantity or a time that Go can hold."""
    if shape.format == "quantity" and isinstance(value, str):
        return is_parsed_quantity(value)
    if shape.type == "integer":
        limits = _INTEGERS.get(shape.format, _INTEGERS["int64"])
        from decimal import Decimal

        value = Decimal(repr(value)) if isinstance(value, float) else value  # the server writes the shortest digits, and Go reads these
        return bool(limits.start <= value < limits.stop and value == int(value))  # `in` would try out every number for a float
    return shape.format != "date-time" or is_time(value)


def _nulls(value: Any, shape: Shape | None, path: Path) -> Iterator[Finding]:
    """The fields that *value* leaves out and Go writes as null."""
    if shape is None:
        return
    for name, child in (shape.fields or {}).items() if isinstance(value, dict) else ():
        if child.unset == "null" and value.get(name) is None:
            message = f"the operator writes the missing `{name}` here as null, which the server refuses"
            yield Finding((*path, name), message, f"write `{name}: {_EMPTY[child.type]}`")
    for inner, child_or_none, inner_path in _children(value, shape, path):
        yield from _nulls(inner, child_or_none, inner_path)


def undecodable(as_new: Verdict) -> list[Diagnostic]:
    """Return the values of a wrong type that keep a webhook from decoding an update.

    The server accepted these values by an older schema. *as_new* is the verdict on the document as a new object, which checks also the
    values that the update does not change.
    """
    why = "the server accepts it as it was there before, and the operator cannot read it"
    return [
        Diagnostic(_UNDECODABLE, f"{each.message}; {why}", each.mark, field=each.field, document=each.document, hint=each.hint)
        for each in as_new.diagnostics
        if each.rule == "wrong-type"
    ]


def as_decoded(document: Document, target: Target) -> Document:
    """Return an object that does not keep its schema as Go holds it.

    A required field that is missing gets Go's zero value. A value of a wrong type is left out. The server lets such objects be where an
    older schema took them, or another one than the operator's own.
    """
    shape = shapes.load(document.api_version, document.kind, target)
    spec = shape.at(("spec",)) if shape else None
    if spec is None:
        return document
    document = rewritten(document, target)
    return document.changed({**document.data, "spec": completed(document.data.get("spec"), spec)})


# The document after a mutating webhook, which comes before the schema check.
#
# The webhook decodes a document into Go's types and encodes it again. So a missing required field gets Go's zero: an empty text, 0, an
# object of zeros; a list stays absent. A null item of a list becomes such a zero, too, and a quantity gets its canonical form.
#
# Follows `defaulterForType.Handle`, sigs.k8s.io/controller-runtime pkg/webhook/admission, as JobSet 0.8.2 to 0.12.0 and trainer 2.2.0 to
# 2.3.0 use it. From controller-runtime 0.23.3 on, which trainer 2.2.0 and JobSet 0.12.0 have, an object in which the defaulter changes
# nothing stays as it was sent. Which ones these are follows `TrainJobDefaulter.Default`, github.com/kubeflow/trainer pkg/webhooks, 2.2.0
# and 2.3.0, `jobSetWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.12.0, and `LeaderWorkerSetWebhook.Default`, sigs.k8s.io/lws
# pkg/webhooks, 0.9.0.


def is_rewritten(document: Document, target: Target, *, old: Document | None) -> bool:
    """True if a mutating webhook rewrites the document.

    If *old* is not None, the document is an update of it.
    """
    if not _has_defaulter(document, target, old=old):
        return False
    if old is None and _is_changed_by_kueue(document, target):
        return True
    if document.group_kind in _OF_KUEUE:
        return False
    if document.group_kind == JOBSET:
        from jobspec.operators.jobset_defaults import with_jobset_defaults

        spec = mapping(document.data, "spec")
        return not is_at_least(target["jobset"], "0.12.0") or with_jobset_defaults(spec) != spec
    if document.group_kind == LEADER_WORKER_SET:
        return not is_at_least(target["lws"], "0.9.0") or _lacks_lws_defaults(document, target, old)
    shape = shapes.load(document.api_version, document.kind, target)
    patches = _patches(document, shape)
    before = {each.get("manager"): each for each in _patches(old, shape)} if old else {}
    return any(before[each.get("manager")] != each if each.get("manager") in before else each.get("time") is None for each in patches)


def _lacks_lws_defaults(document: Document, target: Target, old: Document | None) -> bool:
    """Whether a LeaderWorkerSet lacks defaults of its webhook; an update keeps those that the *old* one got."""
    from jobspec.kubernetes.applying import applied
    from jobspec.operators.lws_defaults import with_lws_defaults

    shape = shapes.part(document.api_version, document.kind, target, ("spec",))
    spec = mapping(document.data, "spec")
    if old is not None:
        before = mapping(old.data, "spec")
        spec = applied(with_lws_defaults(filled(before, shape)), before, spec, shape, "client", is_builtin=False)
    spec = filled(spec, shape)
    return bool(with_lws_defaults(spec) != spec)


def _patches(document: Document, shape: Shape | None) -> list[dict[str, Any]]:
    """The `runtimePatches` of a TrainJob, as Go decodes them."""
    decoded = decode_as_go(document.data, shape) if shape else {}
    return structs(decoded, "spec", "runtimePatches")


def _has_defaulter(document: Document, target: Target, *, old: Document | None) -> bool:
    """Whether a mutating webhook reads the document: JobSet's and Kueue's on a create, that of LWS always, the trainer's from 2.2 on."""
    kind = document.group_kind
    if kind == LEADER_WORKER_SET:
        return True
    is_read = kind == JOBSET or kind in _OF_KUEUE or (QUEUES in target and kind in _READ_BY_KUEUE and kueue_is_asked(document, target))
    return (is_read and old is None) or (kind == TRAINJOB and is_at_least(target["trainer"], "2.2.0"))


def kueue_is_asked(job: Document, target: Target) -> bool:
    """True if the server asks Kueue's webhooks about a job.

    By Kueue's own manifests it does not in the cluster's namespace and in Kueue's, from this release on.
    """
    return job.namespace not in ("kube-system", "kueue-system") or not is_at_least(release_of(QUEUES, target), "0.18.0")


#: The kinds of jobs that a webhook of Kueue reads, in a queue or not, and whether Kueue is set up for them or not.
_READ_BY_KUEUE = (MPIJOB, *QUEUED_TRAINING_JOBS, TRAINJOB, RAY_CLUSTER, RAY_JOB, RAY_SERVICE)
#: The kinds of Kueue's own that its webhook reads; it adds a finalizer to the first two.
_OF_KUEUE = (CLUSTER_QUEUE, RESOURCE_FLAVOR, (QUEUE_GROUP, "Workload"))


def _is_changed_by_kueue(document: Document, target: Target) -> bool:
    """Whether Kueue's webhook changes a new object: it adds a finalizer, a runtime patch to a TrainJob, `suspend` to other jobs."""
    kind, metadata = document.group_kind, mapping(document.data, "metadata")
    if kind in _OF_KUEUE:
        return kind in _OF_KUEUE[:2] and f"{QUEUE_GROUP}/resource-in-use" not in items(metadata, "finalizers")
    if QUEUES not in target or not queued_by_default(kind, target[QUEUES]) or is_of_other_operator(document):
        return False
    if not kueue_is_asked(document, target):
        return False
    policy = mapping(document.data, *JOBS[kind].policy) if kind in JOBS else {}
    if kind == TRAINJOB or (mapping(metadata, "labels").get(QUEUE) and policy.get("suspend") is not True):
        return True
    is_elastic = kind in (RAY_CLUSTER, RAY_SERVICE) and mapping(metadata, "annotations").get(f"{QUEUE_GROUP}/elastic-job") == "true"
    return is_elastic or (kind == MPIJOB and _gets_offset(mapping(document.data, "spec")))


def _gets_offset(spec: dict[str, Any]) -> bool:
    """True if Kueue annotates the workers of an MPIJob with the index of the first, since the launcher works, too."""
    roles = mapping(spec, "mpiReplicaSpecs")
    launcher, worker = (
        mapping(mapping(roles, role), "template", "metadata", "annotations") if roles.get(role) is not None else None
        for role in ("Launcher", "Worker")
    )
    if spec.get("runLauncherAsWorker") is not True or launcher is None or worker is None:
        return False
    return f"{QUEUE_GROUP}/podset-group-name" not in launcher and worker.get(f"{QUEUE_GROUP}/pod-index-offset") != "1"


def queued_by_default(kind: GroupKind, release: str) -> bool:
    """Whether the default configuration of a release of Kueue queues a kind of jobs: since 0.19 none of training-operator's."""
    return kind not in QUEUED_TRAINING_JOBS or not is_at_least(release, "0.19.0")


def _without_empty_texts(value: Any, shape: Shape | None) -> Any:
    """A value without the empty texts that Go leaves out."""
    if isinstance(value, list):
        return [_without_empty_texts(each, shape and shape.items) for each in value]
    if not isinstance(value, dict) or shape is None or shape.fields is None:
        return value
    fields = shape.fields
    return {name: _without_empty_texts(each, fields.get(name)) for name, each in value.items() if not _is_left_out(name, each, shape)}


def _is_left_out(name: str, value: Any, shape: Shape) -> bool:
    child = (shape.fields or {}).get(name)
    return value == "" and child is not None and child.type == "string" and not child.pointer and name not in shape.required


def with_kept_defaults(document: Document, old: Document | None) -> Document:
    """Return an update with the defaults that a webhook wrote into the *old* object.

    If there are none, return the same document.
    """
    spec = document.data.get("spec")
    if old is None or document.group_kind != LEADER_WORKER_SET or not isinstance(spec, dict):
        return document
    from jobspec.operators.lws_defaults import with_lws_defaults

    return document.changed({**document.data, "spec": with_lws_defaults(spec)})


def rewritten(document: Document, target: Target) -> Document:
    """The document as the webhook writes it; the same object where nothing changes."""
    shape = shapes.load(document.api_version, document.kind, target)
    spec = document.data.get("spec")
    child = shape.at(("spec",)) if shape else None
    is_group = document.group_kind == LEADER_WORKER_SET
    changed = reencoded({} if spec is None and is_group else spec, child) if child else spec
    if is_group and isinstance(changed, dict):
        from jobspec.operators.lws_defaults import as_lws_webhook_writes

        changed = as_lws_webhook_writes(changed)
    if document.group_kind == CLUSTER_QUEUE and document.api_version.endswith("/v1beta1"):
        changed = _without_empty_texts(changed, child)  # converted to the newest version and back, without what is empty
    if changed is spec:
        return document
    return document.changed({**document.data, "spec": changed})
