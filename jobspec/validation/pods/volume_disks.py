"""Sources of volumes that are disks and servers of their own kind, with rules for how they are addressed.

Follows the `validate...VolumeSource` functions and `validateAzureDisk`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name
from jobspec.validation.pods.complaints import describe, missing, outside, unsupported
from jobspec.validation.pods.volume_sources import secret_reference_problems
from jobspec.validation.problem import Problem, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.pods.volume_sources import Rule

_QUALIFIED = {
    "iqn": r"iqn\.[0-9]{4}-[0-9]{2}\.([0-9A-Za-z.-]+)(:[^,;*&$|\t\n\f\r ]+)\Z",
    "eui": r"eui[^\n][0-9A-Za-z]{16}\Z",
    "naa": r"naa[^\n][0-9A-Za-z]{32}\Z",
}
_EXAMPLES = "such as `iqn.2001-04.com.example:disk`, `eui.` with 16 digits or `naa.` with 32"
_CACHING = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MAX_TENANT = 64


def _partition(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    if not 0 <= data.get("partition", 0) <= 255:
        yield outside(data["partition"], 0, 255, (*path, "partition"))


def _iscsi(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    if data.get("iqn"):
        yield from _qualified_name(data["iqn"], (*path, "iqn"))
    if not 0 <= data.get("lun", 0) <= 255:
        yield outside(data["lun"], 0, 255, (*path, "lun"))
    if (data.get("chapAuthDiscovery") or data.get("chapAuthSession")) and "secretRef" not in data:
        yield missing("secretRef", data, path, "CHAP needs the Secret with its credentials")
    if "initiatorName" in data:
        yield from _qualified_name(data["initiatorName"], (*path, "initiatorName"))


def _qualified_name(name: str, path: Path) -> Iterator[Problem]:
    """The problem of a name that is none of iSCSI's; the server looks for that of an `iqn` anywhere in the text."""
    import re

    form = _QUALIFIED.get(name[:3])
    if not form or not (re.search if name.startswith("iqn") else re.match)(form, name):
        yield Problem("wrong-format", path, f"{name_of(path)} takes a name of iSCSI, {_EXAMPLES}, not {describe(name)}")


def _fc(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    targets, disks = data.get("targetWWNs"), data.get("wwids")
    if not targets and not disks:
        yield missing("targetWWNs", data, path, "name the disk by `targetWWNs` and `lun`, or by `wwids`")
    if targets and disks:
        message = "`targetWWNs` and `wwids` both name the disk, and exclude each other"
        yield Problem("conflicting-values", (*path, "targetWWNs"), message, "remove one of the two")
    if targets and "lun" not in data:
        yield missing("lun", data, path, "`targetWWNs` need the number of the logical unit")
    elif targets and not 0 <= data["lun"] <= 255:
        yield outside(data["lun"], 0, 255, (*path, "lun"))


def _azure_disk(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    kind, caching, uri = data.get("kind", "Shared"), data.get("cachingMode", "ReadWrite"), data.get("diskURI") or ""
    if caching not in _CACHING:
        yield unsupported(caching, _CACHING, (*path, "cachingMode"))
    if kind not in _DISK_KINDS:
        yield unsupported(kind, _DISK_KINDS, (*path, "kind"))
    start = "/subscriptions/" if kind == "Managed" else "https://"
    if uri and not uri.startswith(start):
        hint = "" if "kind" in data or not uri.startswith("/subscriptions/") else "add `kind: Managed`; the default is `Shared`"
        message = f"the URI of a disk of kind `{kind}` begins with `{start}`, unlike {describe(uri)}"
        yield Problem("wrong-format", (*path, "diskURI"), message, hint)


def _quobyte(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    registry, tenant = data.get("registry"), data.get("tenant") or ""
    if not registry:
        return
    if len(tenant.encode()) > _MAX_TENANT:
        yield Problem("wrong-size", (*path, "tenant"), f"`tenant` takes at most {_MAX_TENANT} characters, and has {len(tenant)}")
    elif not all(_is_host_and_port(each) for each in registry.split(",")):
        message = f"`registry` takes `host:port`, several with commas between them, not {describe(registry)}"
        yield Problem("wrong-format", (*path, "registry"), message)


def _is_host_and_port(text: str) -> bool:
    """Whether Go's `net.SplitHostPort` accepts the text; it asks for no port behind the colon."""
    host, colon, port = text.rpartition(":")
    if not colon or "[" in port or "]" in port:
        return False
    if text.startswith("["):
        return host.find("]") == len(host) - 1 and "[" not in host[1:]
    return not set(":[]") & set(host)


def _storage_os(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    for field in ("volumeName", "volumeNamespace"):
        if data.get(field) and (why := bad_label_name(data[field])):
            yield Problem("invalid-name", (*path, field), f"`{data[field]}` cannot stand here: {why}")
    yield from secret_reference_problems(data, "secretRef", path)


def _flocker(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    name, uuid = data.get("datasetName"), data.get("datasetUUID")
    if not name and not uuid:
        yield missing("datasetName", data, path, "name the dataset, or give its `datasetUUID`")
    if name and uuid:
        message = "`datasetName` and `datasetUUID` both name the dataset, and exclude each other"
        yield Problem("conflicting-values", (*path, "datasetName"), message, "remove one of the two")
    if name and "/" in name:
        yield Problem("wrong-format", (*path, "datasetName"), f"the name of a dataset has no `/`, unlike {describe(name)}")


DISKS: dict[str, Rule] = {
    "awsElasticBlockStore": _partition,
    "azureDisk": _azure_disk,
    "fc": _fc,
    "flocker": _flocker,
    "gcePersistentDisk": _partition,
    "iscsi": _iscsi,
    "quobyte": _quobyte,
    "storageos": _storage_os,
}
