"""Check an overlay by itself: undeclared parameters, unknown directives, contradictions."""

from __future__ import annotations

from jobspec import workloads
from jobspec.diagnostics import Diagnostic
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.kubernetes.problems import closest
from jobspec.overlays.directives import APPEND, REMOVE, WHEN, is_removal
from jobspec.overlays.parameters import TRAINING, fits, pieces


def check_overlay(overlay: MarkedTree) -> list[Diagnostic]:
    """Everything that is wrong with an overlay, whatever job it is applied to."""
    spec = overlay.get("spec")
    assert spec
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
                self._problem(f"`{name}` is not free as a parameter's name: it stands for the training container", declaration)
            elif not name.replace("_", "").replace("-", "").isalnum():
                self._problem(f"`{name}` cannot be a parameter's name", declaration, "use letters, digits, `-` and `_`")

    def pods(self, spec: MarkedTree) -> None:
        entries = spec.get("pods")
        for entry in entries.value if entries else ():
            roles = entry.get("roles")
            if roles and not roles.value:
                self._problem("`roles` names no role", roles, "leave it out to mean every training pod")
            for field, directives in (("flags", (WHEN,)), ("template", (WHEN, APPEND, REMOVE))):
                child = entry.get(field)
                if child:
                    self._walk(child, directives, pod=True)

    def jobs(self, spec: MarkedTree) -> None:
        known = {kind: version for version, kind in workloads.KINDS}
        for kind, partial in spec.entries("job"):
            if kind not in known:
                hint = closest(kind, known) or f"the kinds are {', '.join(known)}"
                self._problem(f"`{kind}` is no kind of training job", partial, hint)
            elif not isinstance(partial.value, dict):
                self._problem(f"`{kind}` takes a partial manifest, a mapping", partial)
            else:
                self._identity(partial, {"apiVersion": known[kind], "kind": kind})
            self._walk(partial, (WHEN, APPEND, REMOVE))

    def _identity(self, partial: MarkedTree, own: dict[str, str]) -> None:
        for field, value in own.items():
            child = partial.get(field)
            if child and child.value != value:
                self._problem(f"an overlay cannot change the `{field}` of a job", child, f"write `{value}`, or leave it out")

    def resources(self, spec: MarkedTree) -> None:
        entries = spec.get("resources")
        for entry in entries.value if entries else ():
            self._walk(entry, (WHEN,))
            if not all((child := entry.get(key)) and isinstance(child.value, str) for key in ("apiVersion", "kind")):
                message = "an entry of `resources` is a manifest: a mapping with text as `apiVersion` and `kind`"
                self.problems.append(Diagnostic("not-a-manifest", message, entry.place()))

    def unused(self) -> None:
        for name, declaration in self.declared.items():
            if name not in self.used and name != TRAINING:
                self._problem(f"the parameter `{name}` is used nowhere", declaration, f"write `${{{name}}}` where its value belongs")

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
                self._problem("`${training}` is the container of a pod, and known in `pods` only", tree)
            elif name not in self.declared and name != TRAINING:
                hint = closest(name, self.declared) or "write `$${` for a literal `${`"
                self._problem(f"`${{{name}}}` is no parameter of this overlay", tree, hint)

    def _append(self, tree: MarkedTree, added: MarkedTree) -> None:
        if len(tree.value.keys() - {WHEN}) > 1 or not isinstance(added.value, list):
            self._problem("`$append` takes a list and stands alone in its mapping", tree)
        for item in filter(is_removal, items(added)):
            self._problem("an item cannot be appended and removed", item, "write the list itself in place of `$append`")

    def _remove(self, removal: MarkedTree, *, is_item: bool) -> None:
        if not is_item:
            self._problem("`$remove` stands in an item of a list", removal, "`null` in place of a value removes a field")
        elif removal.value is not True:
            hint = "leave `$remove` out to keep the item, or write `$when` to remove it for some values of a parameter"
            self._problem("`$remove` takes `true` only", removal, hint)

    def _when(self, when: MarkedTree) -> None:
        if not isinstance(when.value, dict) or not when.value:
            self._problem("`$when` takes a mapping of parameters to lists of values", when)
            return
        for name, choices in when.value.items():
            self.used.add(name)
            if name not in self.declared:
                self._problem(f"`$when` asks for `{name}`, which is no parameter of this overlay", choices, closest(name, self.declared))
            elif not isinstance(choices.value, list):
                self._problem(f"`$when` takes a list of values for `{name}`", choices)
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
        removals = "`null` in place of a value removes it, and `$remove: true` an item of a list"
        hint = removals if key == "$patch" else f"here, there are {' and '.join(directives)}"
        mark = child.key or child.mark
        self.problems.append(Diagnostic("invalid-overlay", f"there is no `{key}` here", mark, hint=closest(key, directives) or hint))

    def _problem(self, message: str, tree: MarkedTree, hint: str = "") -> None:
        self.problems.append(Diagnostic("invalid-overlay", message, tree.place(), hint=hint))
