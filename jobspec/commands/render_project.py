"""`jobspec render` of a project: its trees are written as a whole, or compared with those that are there."""

from __future__ import annotations

import sys

from jobspec.commands import owned_trees
from jobspec.commands.files import reader
from jobspec.commands.output import deliver
from jobspec.commands.owned_trees import OwnedTree
from jobspec.commands.project import render_project
from jobspec.diagnostics import JobspecError
from jobspec.gitops import inventory
from jobspec.gitops.tree import complete, with_inventory

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
    lines = owned_trees.compare(_trees(rendered, only))
    sys.stdout.writelines(lines)
    return 1 if lines else 0


def _write(inputs: Inputs, rendered: RenderedProject, only: Collection[str]) -> int:
    changed = owned_trees.write(_trees(rendered, only))
    if inputs.output == "text":
        sys.stdout.writelines(f"{path}\n" for path in changed)
    stream = sys.stderr if inputs.output == "text" else sys.stdout
    deliver(rendered.results, rendered.releases, inputs, stream, read=reader(rendered.read))
    return 0


def _trees(rendered: RenderedProject, only: Collection[str]) -> list[OwnedTree]:
    """The tree of variants, and that of engines where all variants are rendered: it depends on all of them."""

    def variants(found: Files, hashes: dict[str, str]) -> Files:
        """The rendered variants with the earlier runs that stay; with *only* some, the files of the others as they are."""
        others = [path for path in hashes if path in found and "/" in path and path.partition("/")[0] not in only] if only else []
        kept = {path: found[path] for path in others} | dict(rendered.earlier)
        known = hashes | {path: inventory.digest_of(content) for path, content in rendered.earlier.items()}
        return complete(rendered.tree.only(only) if only else rendered.tree, kept, known)

    owned = [OwnedTree(rendered.output, variants)]
    if rendered.engine_output:
        owned.append(OwnedTree(rendered.engine_output, lambda *_: with_inventory(rendered.engine_files)))
    return owned
