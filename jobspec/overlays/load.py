"""Load overlays: read each, check it by itself, and give its parameters their values."""

from __future__ import annotations

import os

from jobspec.apis.kinds import OVERLAY
from jobspec.apis.shipped import overlay_content, overlay_label
from jobspec.apis.shipped import path as shipped_path
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, Path, spell
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.wording import as_text
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, field_value, items, with_marks
from jobspec.documents.reader import read
from jobspec.go.formats import is_quantity
from jobspec.kubernetes.problems import closest, unknown_field
from jobspec.kubernetes.verdict import verdict
from jobspec.operators import workloads
from jobspec.overlays.merge import APPEND, REMOVE, WHEN, is_removal
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.apis.releases import Target

    Values = Mapping[str, Any]


class OverlayFile:
    """An overlay as it is written: the content of a file, or a document."""

    def __init__(self, file: str, content: bytes | Document, *, stem: str = "") -> None:
        self.file = file
        """What diagnostics show as its file."""
        self.content = content
        self.stem = stem or os.path.basename(file).rpartition(".")[0]
        """What its marks have as `layer` while it has no name of its own."""


def shipped() -> list[str]:
    """List the names of the overlays that come with jobspec."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(shipped_path("overlays")) if name.endswith(".yaml"))


def shipped_file(name: str) -> OverlayFile:
    """Read an overlay that comes with jobspec. Raises OSError if there is no such overlay."""
    return OverlayFile(overlay_label(name), overlay_content(name), stem=name)


def load(files: Sequence[OverlayFile], given: Sequence[ParameterValue], target: Target) -> tuple[list[LoadedOverlay], list[Diagnostic]]:
    """Load the overlays in *files*, in order, with the *given* values of parameters.

    Returns the overlays, and the problems of files and values. Raises JobspecError for a file that holds no overlay, for two overlays of
    one name, and for a value of an overlay that is not there.
    """
    trees: dict[str, MarkedTree] = {}
    problems: list[Diagnostic] = []
    for file in files:
        tree, found = _read_overlay(file, target)
        problems += found
        if tree:
            name = name_of(tree)
            if name in trees:
                raise JobspecError(f"{trees[name].mark.file} and {tree.mark.file} have the same name, {name}")
            trees[name] = tree
    values = _by_overlay(given, trees, broken=bool(problems))
    overlays = []
    for name, tree in trees.items():
        found_values, found = parameter_values(name, tree.get("spec", "parameters"), values.get(name, {}))
        problems += found
        overlays.append(LoadedOverlay(tree, found_values))
    return overlays, problems


def _by_overlay(given: Sequence[ParameterValue], trees: Mapping[str, MarkedTree], *, broken: bool) -> dict[str, dict[str, ParameterValue]]:
    """The values by overlay and parameter; the last of several for one parameter counts."""
    values: dict[str, dict[str, ParameterValue]] = {}
    for each in given:
        if each.overlay not in trees and not broken:
            raise JobspecError(f"{each.place}: no overlay `{each.overlay}` is applied (applied: {', '.join(trees) or 'none'})")
        values.setdefault(each.overlay, {})[each.name] = each
    return values


def _read_overlay(file: OverlayFile, target: Target) -> tuple[MarkedTree | None, list[Diagnostic]]:
    documents, problems = _documents(file)
    if problems:
        return None, problems
    if len(documents) != 1:
        raise JobspecError(f"{file.file}: an overlay file must hold one document, not {len(documents)}")
    document = documents[0]
    found = verdict(document, target)
    if (found.status == "valid" and document.group_kind != OVERLAY) or found.status == "partly":
        raise JobspecError(f"{file.file}: not an overlay, but a {document.kind}")
    problems = found.diagnostics
    if not problems and not document.name:
        problems = [document.problem("missing-name", "an overlay needs `metadata.name`", ("metadata",))]
    if problems:
        return None, problems
    tree, problems = _checked(document, target)
    return None if problems else tree, problems


def _checked(document: Document, target: Target) -> tuple[MarkedTree, list[Diagnostic]]:
    """The tree of an overlay that is valid by its schema, and what else is wrong with it."""
    shape = shapes.part(document.api_version, document.kind, target)
    tree = _without_nulls(with_marks(document.data, document.marks), shape)
    return tree, check_overlay(tree)


def overlay_problems(document: Document, target: Target) -> list[Diagnostic]:
    """Return the problems of a valid Overlay document by itself.

    Unknown fields of its partial manifests are among them.
    """
    tree, found = _checked(document, target)
    template = shapes.part("v1", "PodTemplate", target, ("template",))
    for index, entry in enumerate(items(tree.get("spec", "pods"))):
        if child := entry.get("template"):
            found += _unknown_fields(child, template, ("spec", "pods", index, "template"))
    for version, kind in workloads.OVERLAID_KINDS:
        job = tree.get("spec", "job", kind)
        if job and isinstance(job.value, dict):
            found += _unknown_fields(job, shapes.load(version, kind, target), ("spec", "job", kind))
    return found


def _unknown_fields(tree: MarkedTree, shape: Shape | None, path: Path) -> Iterator[Diagnostic]:
    """Yield the fields of a partial manifest that no job has.

    Keys with `$` are directives, or names that parameters give.
    """
    if isinstance(tree.value, list):
        for index, item in enumerate(tree.value):
            yield from _unknown_fields(item, shape.items if shape else None, (*path, index))
    elif isinstance(tree.value, dict) and shape and not shape.open and shape.type != "any":
        for name, child in tree.value.items():
            fields = shape.fields or {}
            if name == APPEND:
                yield from _unknown_fields(child, shape, path)
            elif name.startswith("$"):
                continue
            elif name in fields or shape.values:
                yield from _unknown_fields(child, fields.get(name) or shape.values, (*path, name))
            else:
                problem = unknown_field(name, child.data(), shape, path, suggest=True)
                mark = child.key or child.mark
                yield Diagnostic(problem.rule, problem.message, mark, field=spell(problem.path), hint=problem.hint)


def _documents(file: OverlayFile) -> tuple[list[Document], list[Diagnostic]]:
    """The documents of an overlay's file, whose marks have its name as their layer."""
    if not isinstance(file.content, bytes):
        return [file.content], []
    text = decode(file.content, file.file, layer=file.stem)
    if isinstance(text, Diagnostic):
        return [], [text]
    first = next(iter(read(text, file=file.file)[0]), None)
    return read(text, file=file.file, layer=(first.name if first else "") or file.stem)


def _without_nulls(tree: MarkedTree, shape: Shape) -> MarkedTree:
    """Remove the overlay's own fields that are null.

    Null stays inside of its partial manifests, since there it removes.
    """
    if shape.type == "any":
        return tree
    if isinstance(tree.value, list):
        assert shape.items
        return tree.with_value([_without_nulls(child, shape.items) for child in tree.value])
    if not isinstance(tree.value, dict):
        return tree
    kept = {}
    for name, child in tree.value.items():
        below = shape.values if shape.fields is None else shape.fields[name]
        assert below
        if child.value is not None or below.type == "any":
            kept[name] = _without_nulls(child, below)
    return tree if all(kept.get(name) is child for name, child in tree.value.items()) else tree.with_value(kept)


# An overlay that is ready to be applied.


class LoadedOverlay:
    """A checked overlay, with values for its parameters."""

    def __init__(self, tree: MarkedTree, values: Mapping[str, Any], given: Mapping[str, Mark] | None = None) -> None:
        self.tree = tree
        self.spec: MarkedTree = tree.value["spec"]
        self.name = name_of(tree)
        self.override = bool(field_value(self.spec, "override"))
        self.values = values
        self.given: Mapping[str, Mark] = given or {}
        """Where a file gives parameters their values."""

    def source_of(self, parameter: str) -> Mark | None:
        """Return the place that gives a parameter its value: in a file, or the default in the overlay. If unknown, return None."""
        declared = dict(self.spec.entries("parameters")).get(parameter)
        default = declared.get("default") if declared and isinstance(declared.value, dict) else None
        return self.given.get(parameter) or (default.place() if default else None)

    def conflicts(self) -> list[MarkedTree]:
        """Return the names of overlays that cannot be applied together with this one."""
        return items(self.spec.get("conflicts"))


def name_of(tree: MarkedTree) -> str:
    """Return the `metadata.name` of an overlay. The overlay must have one."""
    return str(tree.value["metadata"].value["name"].value)


# Check an overlay by itself: undeclared parameters, unknown directives, contradictions.


def check_overlay(overlay: MarkedTree) -> list[Diagnostic]:
    """Return the problems of an overlay that do not depend on the job."""
    spec: MarkedTree = overlay.value["spec"]
    check = _Check(dict(spec.entries("parameters")))
    check.parameters()
    check.pods(spec)
    check.jobs(spec)
    check.resources(spec)
    check.unused()
    return check.problems


class _Check:
    """A walk over one overlay, with the parameters that it uses and the problems found so far."""

    def __init__(self, declared: dict[str, MarkedTree]) -> None:
        self.declared = declared
        self.used: set[str] = set()
        self.problems: list[Diagnostic] = []

    def parameters(self) -> None:
        for name, declaration in self.declared.items():
            if name == TRAINING:
                self._problem(f"`{name}` is a reserved parameter name: it is the training container", declaration)
            elif not name.replace("_", "").replace("-", "").isalnum():
                self._problem(f"`{name}` cannot be a parameter's name", declaration, "use letters, digits, `-` and `_`")

    def pods(self, spec: MarkedTree) -> None:
        for entry in items(spec.get("pods")):
            roles = entry.get("roles")
            if roles and not roles.value:
                self._problem("`roles` names no role", roles, "remove it to mean every pod")
            for field, directives in (("flags", (WHEN,)), ("template", (WHEN, APPEND, REMOVE))):
                if child := entry.get(field):
                    self._walk(child, directives, pod=True)

    def jobs(self, spec: MarkedTree) -> None:
        known = {kind: version for version, kind in workloads.OVERLAID_KINDS}
        for kind, partial in spec.entries("job"):
            if kind not in known:
                hint = closest(kind, known) or f"the kinds are {', '.join(known)}"
                self._problem(f"`{kind}` is not a kind of training job", partial, hint)
            elif not isinstance(partial.value, dict):
                self._problem(f"`{kind}`: expected a partial manifest, an object", partial)
            else:
                self._identity(partial, {"apiVersion": known[kind], "kind": kind})
            self._walk(partial, (WHEN, APPEND, REMOVE))

    def _identity(self, partial: MarkedTree, own: dict[str, str]) -> None:
        for field, value in own.items():
            child = partial.get(field)
            if child and child.value != value:
                self._problem(f"an overlay cannot change the `{field}` of a job", child, f"write `{value}`, or remove it")

    def resources(self, spec: MarkedTree) -> None:
        for entry in items(spec.get("resources")):
            self._walk(entry, (WHEN,))
            if not all((child := entry.get(key)) and isinstance(child.value, str) for key in ("apiVersion", "kind")):
                message = "an entry of `resources` must be a manifest: an object with the strings `apiVersion` and `kind`"
                self.problems.append(Diagnostic("not-a-manifest", message, entry.place()))

    def unused(self) -> None:
        for name, declaration in self.declared.items():
            if name not in self.used and name != TRAINING:
                self._problem(f"the parameter `{name}` is not used", declaration, f"write `${{{name}}}` where its value belongs")

    def _walk(self, tree: MarkedTree, directives: tuple[str, ...], *, pod: bool = False, is_item: bool = False) -> None:
        if isinstance(tree.value, str):
            self._names(tree.value, tree, pod=pod)
        for child in tree.value if isinstance(tree.value, list) else ():
            self._walk(child, directives, pod=pod, is_item=True)
        for key, child in tree.value.items() if isinstance(tree.value, dict) else ():
            self._names(key, child, pod=pod)
            if key.startswith("$") and not key.startswith(("${", "$${")) and key not in directives:
                self._unknown(key, child, directives)
            elif key == WHEN:
                self._when(child)
                continue
            elif key == APPEND:
                self._append(tree, child)
            elif key == REMOVE:
                self._remove(child, is_item=is_item)
            self._walk(child, directives, pod=pod)

    def _names(self, text: str, tree: MarkedTree, *, pod: bool) -> None:
        for name in [part for part, is_name in pieces(text) if is_name] if "${" in text else ():
            self.used.add(name)
            if name == TRAINING and not pod:
                self._problem("`${training}` is the container of a pod, and only known in `pods`", tree)
            elif name not in self.declared and name != TRAINING:
                hint = closest(name, self.declared) or "write `$${` for a literal `${`"
                self._problem(f"`${{{name}}}` is not a parameter of this overlay", tree, hint)

    def _append(self, tree: MarkedTree, added: MarkedTree) -> None:
        if len(tree.value.keys() - {WHEN}) > 1 or not isinstance(added.value, list):
            self._problem("`$append`: expected a list, alone in its object", tree)
        for item in filter(is_removal, items(added)):
            self._problem("an item cannot be appended and removed", item, "write the list itself instead of `$append`")

    def _remove(self, removal: MarkedTree, *, is_item: bool) -> None:
        if not is_item:
            self._problem("`$remove` is only allowed in an item of a list", removal, "`null` instead of a value removes a field")
        elif removal.value is not True:
            hint = "remove `$remove` to keep the item, or write `$when` to remove it for some values of a parameter"
            self._problem("`$remove`: expected `true`", removal, hint)

    def _when(self, when: MarkedTree) -> None:
        if not isinstance(when.value, dict) or not when.value:
            self._problem("`$when`: expected an object of parameters to lists of values", when)
            return
        for name, choices in when.value.items():
            self.used.add(name)
            if name not in self.declared:
                self._problem(f"`$when` asks for `{name}`, which is not a parameter of this overlay", choices, closest(name, self.declared))
            elif not isinstance(choices.value, list):
                self._problem(f"`$when`: expected a list of values for `{name}`", choices)
            else:
                self._choices(name, choices)

    def _choices(self, name: str, choices: MarkedTree) -> None:
        kind = self.declared[name].get("type")
        enum = self.declared[name].get("enum")
        assert kind
        for choice in choices.value:
            if not fits(choice.value, kind.value) or (enum and str(choice.value) not in enum.data()):
                self._problem(f"`{name}` never is `{choice.value}`", choice)

    def _unknown(self, key: str, child: MarkedTree, directives: tuple[str, ...]) -> None:
        removals = "`null` instead of a value removes it, and `$remove: true` an item of a list"
        hint = removals if key == "$patch" else f"here, there are {' and '.join(directives)}"
        mark = child.key or child.mark
        self.problems.append(Diagnostic("invalid-overlay", f"`{key}` is not allowed here", mark, hint=closest(key, directives) or hint))

    def _problem(self, message: str, tree: MarkedTree, hint: str = "") -> None:
        self.problems.append(Diagnostic("invalid-overlay", message, tree.place(), hint=hint))


# Parameters of an overlay: their values, from `--set` and defaults, and the substitution of `${name}`.


TRAINING = "training"  # `${training}`: the container that the operator requires


class ParameterValue(Record):
    """A value that a user gives to a parameter of an overlay: its text, and its place."""

    overlay: str
    name: str
    text: str
    place: str
    """What diagnostics show as the file, such as `--set gpu-nccl.gpus=2`."""

    @property
    def mark(self) -> Mark:
        """Return the place of a mistake in the value."""
        return Mark(self.place, layer=self.overlay)


def parameter_values(
    overlay: str, declared: MarkedTree | None, given: Mapping[str, ParameterValue]
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """Return the value of each declared parameter, and the problems.

    The value is the given text as the parameter's type, else the default, else None for an unset parameter. A mistake in a text is
    reported at the place of the text, a missing value at the declaration in the *overlay*.
    """
    declarations: dict[str, MarkedTree] = declared.value if declared else {}
    problems = [_unknown_parameter(each, declarations) for name, each in given.items() if name not in declarations]
    found: dict[str, Any] = {}
    for name, declaration in declarations.items():
        try:
            found[name] = _parameter_value(name, declaration, given[name].text if name in given else None, overlay)
        except _Mistake as mistake:
            mark = given[name].mark if name in given else declaration.place()
            problems.append(Diagnostic(mistake.rule, mistake.message, mark, hint=mistake.hint, field=f"spec.parameters[{name}]"))
            found[name] = None
    return found, problems


def _unknown_parameter(given: ParameterValue, declarations: Mapping[str, MarkedTree]) -> Diagnostic:
    known = f"it has {', '.join(f'`{each}`' for each in declarations)}" if declarations else "it has none"
    hint = closest(given.name, declarations) or known
    return Diagnostic("unknown-parameter", f"the overlay has no parameter `{given.name}`", given.mark, hint=hint)


class _Mistake(Exception):
    def __init__(self, rule: str, message: str, hint: str = "") -> None:
        self.rule = rule
        self.message = message
        self.hint = hint


def _parameter_value(name: str, declaration: MarkedTree, given: str | None, overlay: str) -> Any:
    kind = field_value(declaration, "type")
    if given is not None:
        value = _typed(name, given, kind)
    elif (default := field_value(declaration, "default")) is not None:
        value = default
        if not fits(value, kind):
            raise _Mistake("invalid-overlay", f"the default of `{name}` has the wrong type, expected {kind}")
    elif field_value(declaration, "optional"):
        return None
    else:
        raise _Mistake("missing-parameter", f"the overlay needs a value for `{name}`", f"give one with `--set {overlay}.{name}=...`")
    rule = "wrong-parameter" if given is not None else "invalid-overlay"
    _check_limits(name, value, declaration, rule)
    return value


def _typed(name: str, text: str, kind: str) -> Any:
    if kind == "integer" and _is_integer(text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "quantity" and is_quantity(text):
        return int(text) if _is_integer(text) else text
    if kind == "string":
        return text
    examples = {"integer": "an integer", "boolean": "`true` or `false`", "quantity": "a quantity such as `2`, `500m` or `8Gi`"}
    raise _Mistake("wrong-parameter", f"`{name}`: expected {examples[kind]}, got `{text}`")


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isdecimal() and digits.isascii() and len(digits) <= 19  # 64 bits, as any integer of an API


def fits(value: Any, kind: str) -> bool:
    """True if a value is of a parameter's type."""
    if kind == "quantity":
        return type(value) is int or (isinstance(value, str) and is_quantity(value))
    return type(value) is {"integer": int, "boolean": bool, "string": str}[kind]


def _check_limits(name: str, value: Any, declaration: MarkedTree, rule: str) -> None:
    enum = declaration.get("enum")
    if enum and as_text(value) not in enum.data():
        choices = ", ".join(f"`{each}`" for each in enum.data())
        raise _Mistake(rule, f"`{name}`: expected {choices}, got `{value}`", closest(value, enum.data()))
    least, most = field_value(declaration, "minimum"), field_value(declaration, "maximum")
    if type(value) is int and least is not None and value < least:
        raise _Mistake(rule, f"`{name}`: expected at least {least}, got {value}")
    if type(value) is int and most is not None and value > most:
        raise _Mistake(rule, f"`{name}`: expected at most {most}, got {value}")


class Substitution:
    """A substitution of parameters' values in parts of one overlay.

    Parts that are unset, or excluded by `$when`, are left out. The overlay has passed `check_overlay`: every name that it uses is
    declared.
    """

    def __init__(self, values: Values) -> None:
        self.values = values
        self.problems: list[Diagnostic] = []

    def __call__(self, tree: MarkedTree) -> MarkedTree | None:
        """Replace every `${name}` in the tree. If nothing of the tree remains, return None."""
        return self._substituted(tree) if has_dollar(tree) else tree

    def _substituted(self, tree: MarkedTree) -> MarkedTree | None:
        value = tree.value
        if isinstance(value, dict):
            return self._mapping(tree)
        if isinstance(value, list):
            kept = [child for child in map(self._substituted, value) if child]
            return tree.with_value(kept) if kept or not value else None
        if isinstance(value, str) and "$" in value:
            text = self._text(value)
            return None if text is None else tree.with_value(text)
        return tree

    def _mapping(self, tree: MarkedTree) -> MarkedTree | None:
        if WHEN in tree.value and not self._holds(tree.value[WHEN]):
            return None
        rest = [(name, child) for name, child in tree.value.items() if name != WHEN]
        kept: dict[str, MarkedTree] = {}
        for name, child in rest:
            key = self._key(name) if "$" in name else name
            result = self._substituted(child)
            if result is None or key is None:
                continue
            if key in kept:
                message = f"the key `{name}` becomes `{key}`, which is a duplicate key"
                self.problems.append(Diagnostic("invalid-overlay", message, child.key or child.mark))
            kept[key] = result
        if not kept and rest:
            return None
        return tree if all(kept.get(name) is child for name, child in tree.value.items()) else tree.with_value(kept)

    def _holds(self, when: MarkedTree) -> bool:
        """True if `$when: {form: [both, label]}` holds.

        Every parameter in it must have one of the listed values.
        """
        return all(self.values[name] in choices.data() for name, choices in when.value.items())

    def _key(self, name: str) -> str | None:
        key = self._text(name)
        return None if key is None else as_text(key)

    def _text(self, text: str) -> Any:
        """Substitute the parameters in a text. If one is unset, return None.

        If the text is a whole `${name}`, the value's type is kept.
        """
        parts = pieces(text)
        values = [self.values[part] if is_name else part for part, is_name in parts]
        if len(parts) == 1 or None in values:
            return None if None in values else values[0]
        return "".join(map(as_text, values))


def has_dollar(tree: MarkedTree) -> bool:
    """True if a dollar is in a tree. Without one, nothing needs substitution."""
    value = tree.value
    if isinstance(value, dict):
        return any("$" in name for name in value) or any(map(has_dollar, value.values()))
    if isinstance(value, list):
        return any(map(has_dollar, value))
    return isinstance(value, str) and "$" in value


def pieces(text: str) -> list[tuple[str, bool]]:
    """Cut a text into pieces, each with True if it is a name in `${}`. `$${` is a literal `${`."""
    found = []
    literal, rest = "", text
    while "${" in rest:
        before, _, rest = rest.partition("${")
        if before.endswith("$"):
            literal += before[:-1] + "${"
            continue
        name, _, rest = rest.partition("}")
        found += [(literal + before, False), (name, True)]
        literal = ""
    found.append((literal + rest, False))
    return [(part, is_name) for part, is_name in found if part or is_name] or [("", False)]
