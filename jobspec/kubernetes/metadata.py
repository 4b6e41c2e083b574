"""Check an object's metadata: names, labels, annotations, finalizers, owners.

Follows `ValidateObjectMeta`, k8s.io/apimachinery pkg/api/validation, 0.36, with the functions for names that kinds pass to it.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


#: Metadata that the server writes.
WRITTEN_BY_SERVER = frozenset(("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"))
#: The label of a namespace that holds its name.
NAMESPACE_NAME = "kubernetes.io/metadata.name"
#: The annotation in which kubectl keeps the whole object that it has applied last, as text.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_WORD = _LOWER | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_MAX_ANNOTATIONS = 256 * 1024
KNOWN_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
MAX_PREFIX = 58  # of `generateName`: the server cuts it and adds five characters
_METADATA: Path = ("metadata",)


def metadata_problems(metadata: Any, *, names: str, builtin: bool, namespaced: bool = True, start: str = "") -> Problems:
    """Yield the problems of an object's metadata. None counts as empty metadata.

    Values of a wrong type are skipped, also the metadata as a whole. *names* is the kind's rule for names in `jobspec.apis.kinds`.
    *start*: the text that the name must begin with; the rule then applies to the rest.
    """
    if names == "-" or not isinstance(metadata, dict | None):
        return
    metadata = metadata or {}
    yield from _object_name_problems(metadata, names, start)
    namespace = metadata.get("namespace")
    if namespaced and isinstance(namespace, str) and namespace and (why := bad_label_name(namespace)):
        yield Problem("invalid-name", (*_METADATA, "namespace"), f"`{namespace}` is not a valid namespace: {why}")
    yield from label_problems(metadata.get("labels"), _METADATA)
    yield from annotation_problems(metadata.get("annotations"), _METADATA)
    yield from _finalizers(metadata.get("finalizers"), builtin=builtin)
    yield from _owners(metadata.get("ownerReferences"))


def _object_name_problems(metadata: Data, rule: str, start: str) -> Problems:
    """Yield the problems of `name` and `generateName`.

    Without a name, the name that the server generates is checked, too.
    """
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if name in (None, "") and prefix in (None, "") and rule != "optional-subdomain":
        yield Problem("missing-name", _METADATA, "the object has neither `metadata.name` nor `metadata.generateName`", at_key=True)
    bad_prefix, bad_name = (_after(start, bad) for bad in _NAME_RULES[rule])
    if isinstance(name, str) and name and (why := bad_name(name)):
        yield Problem("invalid-name", (*_METADATA, "name"), f"`{name}` is not a valid name: {why}", _name_hint(name, bad_name))
    if isinstance(prefix, str) and prefix:
        is_generated = not name and rule != "address"
        if why := bad_prefix(prefix) or (bad_name(generated_name(prefix)) if is_generated else ""):
            yield Problem("invalid-name", (*_METADATA, "generateName"), f"`{prefix}` is not a valid prefix of a name: {why}")


def _after(start: str, bad: Callable[[str], str]) -> Callable[[str], str]:
    return lambda name: bad(name.removeprefix(start)) if name.startswith(start) else f"it must begin with `{start}`"


def generation_problems(metadata: Any) -> Problems:
    """Yield the problem of a negative `metadata.generation`.

    This is for kinds of objects whose generation the server does not set itself.
    """
    generation = metadata.get("generation") if isinstance(metadata, dict) else None
    if isinstance(generation, int | float) and generation < 0:
        message = f"`generation` must not be negative, got {generation}"
        yield Problem("out-of-range", (*_METADATA, "generation"), message, "remove it; the server sets it")


def generated_name(prefix: str) -> str:
    """Return a name as the server generates it from `generateName`."""
    return prefix[:MAX_PREFIX] + "xxxxx"


def masked(prefix: str) -> str:
    """Return a `generateName` as the server validates it (`maskTrailingDash`).

    If the prefix ends with a dash, `a` replaces its last two bytes.
    """
    return prefix.encode()[:-2].decode(errors="replace") + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def label_problems(labels: Any, at: Path) -> Problems:
    """Yield the problems of the labels of metadata *at* a path."""
    if isinstance(labels, dict):
        yield from wanted_label_problems(labels, (*at, "labels"), "invalid-metadata")


def wanted_label_problems(labels: Data, path: Path, rule: str = "wrong-format") -> Problems:
    """Yield the problems of labels that a selector requires of pods or nodes."""
    for key, value in labels.items():
        if why := bad_qualified_name(key):
            yield Problem(rule, (*path, Key(key)), f'"{key}" is not a valid label key: {why}', at_key=True)
        if isinstance(value, str) and (why := bad_label_value(value)):
            yield Problem(rule, (*path, Key(key)), f'"{value}" is not a valid label value: {why}')


def annotation_problems(annotations: Any, at: Path) -> Problems:
    """Yield the problems of the annotations of metadata *at* a path."""
    if not isinstance(annotations, dict):
        return
    size = 0
    for key, value in annotations.items():
        size += len(key.encode()) + (len(value.encode()) if isinstance(value, str) else 0)
        if why := bad_qualified_name(key.lower()):
            yield Problem("invalid-metadata", (*at, "annotations", Key(key)), f'"{key}" is not a valid annotation key: {why}', at_key=True)
    if size > _MAX_ANNOTATIONS:
        message = f"the annotations hold {size:,} bytes, more than the {_MAX_ANNOTATIONS:,} allowed"
        yield Problem("invalid-metadata", (*at, "annotations"), message)


def _finalizers(finalizers: Any, *, builtin: bool) -> Problems:
    names = finalizers if isinstance(finalizers, list) else []
    for index, name in enumerate("" if each is None else each for each in names):
        path = (*_METADATA, "finalizers", index)
        if isinstance(name, str) and (why := bad_qualified_name(name)):
            yield Problem("invalid-metadata", path, f'"{name}" is not a valid finalizer: {why}')
        elif builtin and isinstance(name, str) and "/" not in name and name not in KNOWN_FINALIZERS:
            message = f'"{name}" is not one of Kubernetes\' own finalizers, and others need a domain: `example.com/{name}`'
            yield Problem("invalid-metadata", path, message)
    if "orphan" in names and "foregroundDeletion" in names:
        yield Problem("invalid-metadata", (*_METADATA, "finalizers"), "`orphan` and `foregroundDeletion` are mutually exclusive")


def _owners(owners: Any) -> Problems:
    controllers: list[Any] = []
    for index, owner in enumerate(owners if isinstance(owners, list) else ()):
        path = (*_METADATA, "ownerReferences", index)
        if owner is None:
            yield Problem("invalid-metadata", path, "the owner is empty")
        if not isinstance(owner, dict):
            continue
        for field in ("apiVersion", "kind", "name", "uid"):
            if owner.get(field) == "":
                yield Problem("invalid-metadata", (*path, field), f"the owner's `{field}` is empty")
        yield from _owner_kind(owner.get("apiVersion"), owner.get("kind"), path)
        given = {name: value for name, value in owner.items() if value is not None}
        if given.get("controller") is True and given not in controllers:  # the server drops an owner that stands there already
            controllers.append(given)
            if len(controllers) > 1:
                yield Problem("invalid-metadata", (*path, "controller"), "only one owner can be the controller")


def _owner_kind(api_version: Any, kind: Any, path: Path) -> Problems:
    if not isinstance(api_version, str) or not api_version:
        return
    if api_version.count("/") > 1 or api_version.endswith("/"):
        message = f"`{api_version}` is not a valid API version: expected `v1` or `group/version`"
        yield Problem("invalid-metadata", (*path, "apiVersion"), message)
    elif api_version in ("v1", "/v1") and kind == "Event":
        yield Problem("invalid-metadata", (*path, "kind"), "an Event cannot be an owner")


def bad_path_segment(name: str) -> str:
    """Return why *name* cannot be a segment of a URL's path. If it can, return an empty string."""
    is_wrong = name in (".", "..") or "/" in name or "%" in name
    return "it cannot be `.` or `..`, and cannot contain `/` or `%`" if is_wrong else ""


def bad_subdomain(name: str) -> str:
    """Return why *name* is not a DNS subdomain (RFC 1123); empty if it is one."""
    if len(name) > 253:
        return f"it has {len(name)} characters, more than 253"
    if not _LOWER.issuperset(name.replace("-", "").replace(".", "")):
        return "an RFC 1123 subdomain has only lower-case letters, digits, `-` and `.`"
    if any(not part or part[0] == "-" or part[-1] == "-" for part in name.split(".")):
        also = ", and so does each part between dots" if "." in name else ""
        return f"an RFC 1123 subdomain starts and ends with a letter or digit{also}"
    return ""


def bad_label_name(name: str) -> str:
    """Return why *name* is not a DNS label (RFC 1123); empty if it is one."""
    if len(name) > 63:
        return f"it has {len(name)} characters, more than 63"
    if not _LOWER.issuperset(name.replace("-", "")):
        return "an RFC 1123 label has only lower-case letters, digits and `-`"
    if not name or name[0] == "-" or name[-1] == "-":
        return "an RFC 1123 label starts and ends with a letter or digit"
    return ""


def bad_dns1035_label(name: str) -> str:
    """Return why *name* is not a DNS label (RFC 1035); empty if it is one."""
    return bad_label_name(name) or ("it must start with a letter" if name[0] in "0123456789" else "")


def bad_qualified_name(name: str) -> str:
    """Return why *name* is not a qualified name (`example.com/name`); empty if it is one."""
    prefix, slash, rest = name.rpartition("/")
    if slash and (not prefix or "/" in prefix or bad_subdomain(prefix)):
        return "the part before `/` must be a DNS subdomain"
    if not rest:
        return "its name is empty"
    return _bad_word(rest)


def bad_label_value(value: str) -> str:
    """Return why *value* cannot be the value of a label; empty if it can."""
    return _bad_word(value) if value else ""


def _bad_word(text: str) -> str:
    if len(text) > 63:
        return f"it has {len(text)} characters, more than 63"
    if not (text[0] in _WORD and text[-1] in _WORD and _WORD.issuperset(text.replace("-", "").replace("_", "").replace(".", ""))):
        return "use letters, digits, `-`, `_` and `.`, starting and ending with a letter or digit"
    return ""


def _bad_address(name: str) -> str:
    from jobspec.go.formats import address, plain_address

    found = address(name)
    if found is None:
        return "it must be an IP address"
    return "" if plain_address(name) and str(found) == name else f"it must be an IP address in its canonical form, `{found}`"


def _bad_cronjob_name(name: str) -> str:
    return bad_subdomain(name) or (f"it has {len(name)} characters, more than 52" if len(name) > 52 else "")


def bad_segment_prefix(prefix: str) -> str:
    """Return why *prefix* cannot begin a segment of a URL's path. If it can, return an empty string."""
    return "it cannot contain `/` or `%`" if "/" in prefix or "%" in prefix else ""


#: For each rule for names in `jobspec.apis.kinds`, two functions: why a text cannot be `generateName`, and why it cannot be a name.
_NAME_RULES: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "subdomain": (lambda prefix: bad_subdomain(masked(prefix)), bad_subdomain),
    "made-subdomain": (bad_segment_prefix, bad_subdomain),
    "optional-subdomain": (lambda prefix: bad_subdomain(masked(prefix)), bad_subdomain),
    "label": (lambda prefix: bad_label_name(masked(prefix)), bad_label_name),
    "old-label": (lambda prefix: bad_dns1035_label(masked(prefix)), bad_dns1035_label),
    "segment": (bad_path_segment, bad_path_segment),
    "made-segment": (bad_segment_prefix, bad_path_segment),
    "cronjob": (lambda prefix: bad_subdomain(masked(prefix)), _bad_cronjob_name),
    "address": (_bad_address, _bad_address),
}


def _name_hint(name: str, bad_name: Callable[[str], str]) -> str:
    lower = name.lower().replace("_", "-").strip("-.")
    return f"write `{lower}`" if lower != name and not bad_name(lower) else ""
