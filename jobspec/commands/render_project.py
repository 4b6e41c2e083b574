"""`jobspec render` of a project: its tree is written as a whole, or compared with the one that is there."""

from __future__ import annotations

import sys

from jobspec import trees
from jobspec.commands.files import reader
from jobspec.commands.output import deliver
from jobspec.commands.project import render_project
from jobspec.commands.rendered_tree import hashes_in
from jobspec.diagnostics import JobspecError
from jobspec.gitops import inventory
from jobspec.gitops.tree import complete, differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from jobspec.commands.inputs import Inputs
    from jobspec.commands.project import RenderedProject
    from jobspec.gitops.tree import Files


def run(inputs: Inputs, path: str, *, only: Collection[str], check: bool) -> int:
    """Render a project, or with *check* compare only; 1 where an error was found, or a difference."""
    if inputs.overlays or inputs.sets or inputs.targets:
        raise JobspecError(f"--overlay, --set and --target are for manifests: a project says in {path} what is rendered")
    rendered = render_project(inputs, path, only=only)
    if not rendered.valid:
        deliver(
            rendered.results, rendered.releases, inputs, sys.stderr if inputs.output == "text" else sys.stdout, read=reader(rendered.read)
        )
        return 1
    return _compare(rendered, only) if check else _write(inputs, rendered, only)


def _compare(rendered: RenderedProject, only: Collection[str]) -> int:
    found = trees.read_tree(rendered.output)
    lines = list(differences(found, _wanted(rendered, found, only), rendered.output))
    sys.stdout.writelines(lines)
    return 1 if lines else 0


def _write(inputs: Inputs, rendered: RenderedProject, only: Collection[str]) -> int:
    changed: list[str] = []

    def files() -> Files | None:
        found = trees.read_tree(rendered.output)
        wanted = _wanted(rendered, found, only)
        _refuse_loss(rendered.output, found, wanted)
        changed.extend(path for path in sorted(wanted) if wanted[path] != found.get(path))
        return wanted if wanted != found else None

    trees.replace_tree(rendered.output, files)
    if inputs.output == "text":
        sys.stdout.writelines(f"{rendered.output}/{path}\n" for path in changed)
    stream = sys.stderr if inputs.output == "text" else sys.stdout
    deliver(rendered.results, rendered.releases, inputs, stream, read=reader(rendered.read))
    return 0


def _wanted(rendered: RenderedProject, found: Files, only: Collection[str]) -> Files:
    """The tree to be: rendered variants with the earlier runs that stay; with *only* some, the files of the others as they are."""
    hashes = hashes_in(rendered.output, found)
    others = [path for path in hashes if path in found and "/" in path and path.partition("/")[0] not in only] if only else []
    kept = {path: found[path] for path in others} | dict(rendered.earlier)
    known = hashes | {path: inventory.digest_of(content) for path, content in rendered.earlier.items()}
    return complete(rendered.tree.only(only) if only else rendered.tree, kept, known)


def _refuse_loss(folder: str, found: Files, wanted: Files) -> None:
    """Raises JobspecError where files would be lost that somebody else wrote or changed."""
    state = inventory.state_of(found, hashes_in(folder, found), wanted)
    if state.foreign:
        more = f" and {len(state.foreign) - 1} more" if len(state.foreign) > 1 else ""
        raise JobspecError(f"{folder} holds {state.foreign[0]}{more}, which jobspec did not write and would remove: nothing is written")
    if state.edited:
        before = {path: wanted[path] for path in state.edited if path in wanted}
        lines = "".join(differences(before, {path: found[path] for path in state.edited}, folder))
        names = ", ".join(f"{folder}/{path}" for path in state.edited)
        hint = "put the change into a base, an overlay or the project, then restore or delete the file"
        raise JobspecError(f"{names}: edited by hand since it was rendered; nothing is written: {hint}\n{lines}")
