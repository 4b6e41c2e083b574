"""Clients for the cluster of a kubeconfig: a context of the user's own file, or the current context of given content."""

from __future__ import annotations

from urllib.parse import urlsplit

from kubernetes import client as kubernetes
from kubernetes import config
from yaml import YAMLError

from jobspec.diagnostics import JobspecError
from jobspec.server.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOOPBACK = ("localhost", "::1")
_BROKEN = (YAMLError, OSError, ValueError, TypeError, AttributeError, KeyError)  # what the package raises for a file that is no kubeconfig


def of_context(context: str, files: str | None) -> Client:
    """A client for a context of the user's kubeconfig; *files* is the value of KUBECONFIG, None where it is unset.

    Raises JobspecError where there is no such context, or the file cannot be read.
    """
    configuration = kubernetes.Configuration()
    try:
        contexts, _ = config.list_kube_config_contexts(files)
        chosen = next((each for each in contexts if each["name"] == context), None)
        if chosen is None:
            names = ", ".join(str(each["name"]) for each in contexts)
            raise JobspecError(f"--context {context}: the kubeconfig has no such context; it has {names}")
        config.load_kube_config(files, context, configuration, persist_config=False)
    except config.ConfigException as error:
        raise JobspecError(f"--context {context}: {error}") from None
    except _BROKEN as error:
        raise JobspecError(f"--context {context}: the kubeconfig cannot be read: {error}") from None
    return _client(configuration, f"context `{context}`", chosen["context"].get("namespace") or "default")


def of_config(content: dict[str, Any], name: str) -> Client:
    """A client for the current context of a kubeconfig's content; *name* is the server's name in messages."""
    configuration = kubernetes.Configuration()
    config.load_kube_config_from_dict(content, client_configuration=configuration, persist_config=False)
    return _client(configuration, name, "default")


def _client(configuration: Any, name: str, namespace: str) -> Client:
    if "://" not in configuration.host:
        raise JobspecError(f"{name}: the `server` of the kubeconfig is `{configuration.host}`; write https:// before it")
    host = urlsplit(configuration.host).hostname or ""
    if host in _LOOPBACK or host.startswith("127."):
        configuration.proxy = None  # kubectl uses no proxy for loopback either
    return Client(kubernetes.ApiClient(configuration), name, namespace=namespace)
