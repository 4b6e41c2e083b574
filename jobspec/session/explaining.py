"""Explain a rule, an overlay or a field by its name."""

from __future__ import annotations

from collections.abc import Iterable

from jobspec.diagnostics.explanations import RENAMED, RULES
from jobspec.overlays.load import shipped
from jobspec.session.field_pages import print_field
from jobspec.session.inputs import overlay_file
from jobspec.session.overlay_pages import overlay_page


def explained(name: str, targets: Iterable[str], *, recursive: bool = False) -> str:
    """The explanation of a rule, an overlay that comes with jobspec, or a field. Raises JobspecError where there is none of the name."""
    if text := _explained_rule(name):
        return text
    if name in shipped():
        return overlay_page(overlay_file(name))
    return "".join(f"{line}\n" for line in print_field(name, targets, recursive=recursive))


def _explained_rule(name: str) -> str:
    """What is said of a rule; empty where there is none of this name, such as a path. Not all rules are loaded for one."""
    name = RENAMED.get(name, name)
    if name in RULES:
        return f"{name}: {RULES[name]}\n"
    if "." in name:
        return ""
    from jobspec.lint.catalogue import rules
    from jobspec.lint.linting import RULES as LINT
    from jobspec.lint.pages import as_text

    advice = next((rule for rule in LINT if rule.name == name), None)
    if advice:
        import shutil

        return as_text(advice, shutil.get_terminal_size().columns)
    explanation = rules().get(name)
    return f"{name}: {explanation}\n" if explanation else ""
