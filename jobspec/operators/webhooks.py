"""What operators' webhooks share: rules by release, names, values that Go cannot decode, and what a mutating webhook writes.

A rule is a generator over a workload that yields findings. Its function gives it its name, and the docstring its explanation. Webhooks see
the object without the defaults that an operator fills in later.
"""

from __future__ import annotations

from jobspec.apis.kinds import COMPONENTS, UNKNOWN
from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Path
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.document import Document
from jobspec.go.formats import is_parsed_quantity, is_time
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_subdomain, generated_name
from jobspec.kubernetes.problems import describe
from jobspec.operators.workloads import Workload
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.apis.kinds import CompleteKinds
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
        if document.data.get("status") is None:
            return
        from jobspec.operators.mutation import has_defaulter

        if has_defaulter(document, target, old=workload.old):
            yield from _mistyped(document.data["status"], shape.at(("status",)), ("status",))


def unlistable(document: Document, target: Target) -> list[Finding]:
    """Return what an operator without a webhook cannot decode of an object: it then lists no object of the kind, in any namespace."""
    nothing = f"it then makes nothing of any {document.kind}"
    return [Finding(each.at, f"{each.message}: {nothing}") for each in undecodable_value(Workload(document), target)]


def becomes_null(workload: Workload, target: Target) -> Iterator[Finding]:
    """A few optional fields are `null` once a mutating webhook has written the object, and the server refuses that. Write them out."""
    document, (sent, stored) = workload.document, workload.given
    shape = shapes.load(document.api_version, document.kind, target)
    nulls = list(_nulls(document.data.get("spec"), shape.at(("spec",)), ("spec",))) if shape else []
    if not nulls:
        return
    from jobspec.operators.mutation import is_rewritten

    if is_rewritten(sent, target, old=stored):
        yield from nulls


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
