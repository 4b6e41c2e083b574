"""Explain a rule, an overlay or a field by its name."""

from __future__ import annotations

from collections.abc import Iterable

from jobspec.diagnostics.explanations import RENAMED
from jobspec.overlays.load import shipped
from jobspec.session.field_pages import print_field
from jobspec.session.inputs import overlay_file
from jobspec.session.overlay_pages import overlay_page


def explained(name: str, targets: Iterable[str], *, recursive: bool = False) -> str:
    """Explain a rule, an overlay that comes with jobspec, or a field.

    Raises JobspecError if nothing has the name.
    """
    if text := _explained_rule(name):
        return text
    if name in shipped():
        import shutil

        return overlay_page(overlay_file(name), max(shutil.get_terminal_size().columns, 40))
    return "".join(f"{line}\n" for line in print_field(name, targets, recursive=recursive))


def _explained_rule(name: str) -> str:
    """What is said of a rule; empty where there is none of this name, such as a path."""
    name = RENAMED.get(name, name)
    if "." in name:
        return ""
    import shutil

    from jobspec.lint import pages, rule_pages
    from jobspec.lint.catalogue import rules
    from jobspec.lint.topics import every_rule

    width = shutil.get_terminal_size().columns
    advice = next((rule for rule in every_rule() if rule.name == name), None)
    if advice:
        return pages.as_text(advice, width) + _as_policy(name)
    return rule_pages.as_text(name, width) + _as_policy(name) if name in rules() else ""


def _as_policy(name: str) -> str:
    """How to get a rule as an admission policy; empty if no policy says it."""
    from jobspec.policies.catalogue import POLICIES

    return f"\nIn a cluster: `jobspec policy {name}` prints it as a ValidatingAdmissionPolicy.\n" if name in POLICIES else ""
