"""The controller that a Job is left to, `managedBy`: a domain and a path.

Follows `IsDomainPrefixedPath`, k8s.io/apimachinery pkg/util/validation, 0.36, and `validateJobSpec`, k8s.io/kubernetes
pkg/apis/batch/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_subdomain
from jobspec.validation.pods.complaints import wrong_size
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path

_PATH = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~%!$&'()*+,;=:")
_MOST = 63


def managed_by(name: str, path: Path) -> Iterator[Problem]:
    """The problems of a controller's name."""
    domain, _, rest = name.partition("/")
    if not domain or not rest:
        yield Problem("wrong-format", path, f'`managedBy` is a domain and a path, such as `kueue.x-k8s.io/multikueue`, not "{name}"')
    elif why := bad_subdomain(domain):
        yield Problem("wrong-format", path, f"`{domain}` in `managedBy` is no domain: {why}")
    elif not _PATH.issuperset(rest):
        yield Problem("wrong-format", path, f"`{rest}` in `managedBy` is no path of a URL")
    if len(name.encode()) > _MOST:
        yield wrong_size(len(name.encode()), "character", "most", _MOST, path)
