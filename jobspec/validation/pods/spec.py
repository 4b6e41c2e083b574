"""The parts of a pod's spec, in the order in which the server looks at them.

Follows `ValidatePodSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the feature gates as that release ships them.

What a part gets is decoded (`jobspec.validation.typed`), without the fields of features that are off, and, of a pod, with the requests and
host ports that the server fills in; a part reads all other defaults by functions in `defaults`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem

    Spec = dict[str, Any]
    Part = Callable[[Spec, Path], Iterator[Problem]]


#: What looks at every spec of a pod, in templates too.
PARTS: tuple[Part, ...] = ()


def pod_spec_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """What stands against a decoded spec of a pod or of a template, at *path*."""
    for part in PARTS:
        yield from part(spec, path)
