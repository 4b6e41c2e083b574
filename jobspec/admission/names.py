"""Names of jobs, which begin the names of Services and pods, and names of managers.

Follows `NameIsDNS1035Label` and `IsDomainPrefixedPath`, k8s.io/apimachinery pkg/api/validation and pkg/util/validation, 0.36.
"""

from __future__ import annotations

from jobspec.admission.rule import Fault
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_subdomain, generated_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.targets import Target
    from jobspec.workloads import Workload

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_PATH = _LETTERS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~%!$&'()*+,;=:")


def job_name(workload: Workload, target: Target) -> Iterator[Fault]:
    """The job's name begins the names of its pods and Services, so it has to be a DNS label of RFC 1035.

    That is at most 63 lower-case letters, digits and `-`, a letter first. The API server alone would also take dots and a digit first.
    """
    name, key = name_of(workload)
    why = bad_dns1035_label(name)
    if why:
        message = f"`{workload.document.data['metadata'][key]}` cannot be the name of a job: {why}"
        yield Fault(("metadata", key), message, field="metadata.name")


def name_of(workload: Workload) -> tuple[str, str]:
    """The object's name and its key in `metadata`; a `generateName` gets five more characters."""
    metadata = workload.document.data["metadata"]
    if metadata.get("name"):
        return metadata["name"], "name"
    return generated_name(metadata["generateName"]), "generateName"


def bad_manager(name: str) -> str:
    """Why *name* is no domain-prefixed path such as `example.com/team`; empty where it is one."""
    domain, _, path = name.partition("/")
    if bad_subdomain(domain) or not path:
        return "it has to be a domain, `/` and a name"
    return "" if _PATH.issuperset(path) else "its name holds a character that no URL has"
