"""Requests to one API server, by the transport and authentication of the kubernetes package; kubeconfigs; several requests at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import urllib3
from kubernetes import client as kubernetes
from kubernetes import config
from kubernetes.client import ApiClient
from urllib3 import exceptions as errors
from urllib3.response import BaseHTTPResponse
from yaml import YAMLError

from jobspec.diagnostics.errors import JobspecError

T = TypeVar("T")
R = TypeVar("R")
MANAGER = "jobspec"  # the field manager of all requests
JSON, YAML, APPLY = "application/json", "application/yaml", "application/apply-patch+yaml"
_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60  # a webhook alone may take 30
_PAUSES = (0.2, 0.5, 1.0)  # seconds before each further try
_LONGEST_PAUSE = 10.0  # seconds, whatever `Retry-After` asks for
_TOO_BUSY = (429, 503)
_ANONYMOUS = 'User "system:anonymous"'


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's reply: status code, body and warnings."""

    status: int
    body: Any
    """Decoded JSON; a mapping with `message` where the server sent something else."""
    warnings: list[str]

    @property
    def ok(self) -> bool:
        """True if the request succeeded."""
        return self.status < 300

    @property
    def message(self) -> str:
        """Return the message of a refusal."""
        return str(self.body.get("message") or f"HTTP status {self.status}")


class Client:
    """A client of one server, for many threads."""

    def __init__(self, api: ApiClient, name: str, *, namespace: str = "default", seconds: float = _ANSWER_SECONDS) -> None:
        self.name = name
        """The server's name in messages."""
        self.namespace = namespace
        """The namespace of objects that name none."""
        self.api = api
        self._configuration = api.configuration
        self._pool = api.rest_client.pool_manager
        self._timeout = urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds)
        if not self._configuration.verify_ssl:
            urllib3.disable_warnings(errors.InsecureRequestWarning)  # the kubeconfig wants it so

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return str(self._configuration.host)

    def call(self, method: str, path: str, body: str | None = None, *, kind: str = JSON, query: Mapping[str, str] | None = None) -> Reply:
        """Send a request, and again if the connection is lost or the server is too busy.

        All requests are safe to repeat. Raises JobspecError if there is no reply, or if the server does not accept the caller.
        """
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        for pause in (*_PAUSES, None):
            try:
                response = self._send(method, url, body, kind)
            except (errors.HTTPError, OSError) as error:
                if pause is None or not _is_transient(error):
                    raise JobspecError(f"{self.name}: {_reason(error, self.url)}") from None
                time.sleep(pause)
                continue
            if response.status not in _TOO_BUSY or pause is None:
                break
            time.sleep(max(pause, _wanted_pause(response)))
        reply = _reply(response)
        if reply.status == 401:
            raise JobspecError(
                f"{self.name}: the server at {self.url} does not accept the credentials (401): the token or certificate in the kubeconfig "
                "has expired or belongs to another cluster; log in again"
            )
        if reply.status == 403 and _ANONYMOUS in reply.message:
            raise JobspecError(
                f"{self.name}: the server at {self.url} treats you as anonymous (403): the user of the context has no credentials, "
                "or the program that gets them has failed"
            )
        return reply

    def get(self, path: str) -> Reply:
        """Send a GET request."""
        return self.call("GET", path)

    def close(self) -> None:
        """Close all connections, for good."""
        self._pool.clear()

    def _send(self, method: str, url: str, body: str | None, kind: str) -> BaseHTTPResponse:
        token = self._configuration.auth_settings().get("BearerToken", {}).get("value")
        headers = {"Accept": JSON, "User-Agent": MANAGER, **({"Authorization": token} if token else {})}
        if body is not None:
            headers["Content-Type"] = kind
        raw = body.encode() if body is not None else None
        response: BaseHTTPResponse = self._pool.request(
            method, url, body=raw, headers=headers, timeout=self._timeout, retries=False, redirect=False
        )
        return response


def _reply(response: BaseHTTPResponse) -> Reply:
    try:
        body = json.loads(response.data)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {"message": response.data.decode(errors="replace").strip()}
    return Reply(response.status, body, [_warning(each) for each in response.headers.getlist("Warning")])


def _warning(header: str) -> str:
    """The text of a header like `299 - "text"`."""
    text = header.split(" ", 2)[-1].strip()
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\") if text.startswith('"') else text


def _wanted_pause(response: BaseHTTPResponse) -> float:
    wanted = response.headers.get("Retry-After", "")
    return min(float(wanted), _LONGEST_PAUSE) if wanted.isdigit() else 0.0


def _is_transient(error: Exception) -> bool:
    """True if another try may succeed: the connection was lost or refused.

    A timeout or an untrusted server does not count. urllib3's `Retry` counts refused connections and timeouts alike, and a wrong
    certificate like a handshake that was cut off.
    """
    lost = (errors.ProtocolError, errors.NewConnectionError, ConnectionError)
    return (isinstance(error, lost) and not isinstance(error, errors.NameResolutionError)) or _is_cut_off(error)


def _is_cut_off(error: Exception) -> bool:
    """Whether the connection was closed during the TLS handshake."""
    return isinstance(error, errors.SSLError) and "EOF" in str(error)


def _reason(error: Exception, url: str) -> str:
    """Why there is no reply, in words for the user who chose the server."""
    if isinstance(error, errors.ProtocolError) or _is_cut_off(error):
        return f"the server at {url} closed the connection, several times: {_cause(error)}"
    if isinstance(error, errors.SSLError):
        return _reason_of_tls(str(error), url)
    if isinstance(error, errors.ProxyError):
        return f"the proxy on the way to {url} refuses: {_cause(error)}; see HTTPS_PROXY, NO_PROXY and `proxy-url` in the kubeconfig"
    if isinstance(error, errors.NameResolutionError):
        return f"unknown host {url}: check the kubeconfig's `server` and the network"
    if isinstance(error, errors.NewConnectionError):  # a subclass of the timeout below
        return f"cannot reach the server at {url}: {_cause(error)}; is it running?"
    if isinstance(error, errors.ConnectTimeoutError):
        return f"nothing answers at {url}: no connection within {_CONNECT_SECONDS} s; is a VPN or a firewall in the way?"
    if isinstance(error, errors.TimeoutError):
        return f"the server at {url} took the request and did not answer in time"
    return f"the connection to {url} broke: {_cause(error)}"


def _reason_of_tls(what: str, url: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in what:
        why = what.partition("certificate verify failed: ")[2].partition(" (_ssl")[0] or what
        return (
            f"the certificate of {url} is not one that the kubeconfig trusts ({why}): "
            "its `certificate-authority-data` is of another cluster or outdated, or another server answers"
        )
    if "WRONG_VERSION_NUMBER" in what or "RECORD_LAYER_FAILURE" in what:
        return f"what answers at {url} does not speak TLS; is the kubeconfig's `server` right?"
    return f"no secure connection to {url}: {what}"


def _cause(error: BaseException) -> str:
    """Return the operating system's message among the causes of an error, or the error's own."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        inner = seen.args[1] if len(seen.args) > 1 and isinstance(seen.args[1], BaseException) else None
        seen = inner or seen.__cause__ or seen.__context__
    return str(error)


# Clients for the cluster of a kubeconfig: a context of the user's own file, or the current context of given content.


_LOOPBACK = ("localhost", "::1")
_BROKEN = (YAMLError, OSError, ValueError, TypeError, AttributeError, KeyError)  # what the package raises for a file that is no kubeconfig


def of_context(context: str, files: str | None) -> Client:
    """Make a client for a context of the user's kubeconfig.

    *files*: the value of KUBECONFIG, None if it is unset. Raises JobspecError if there is no such context, or if the file cannot be read.
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
    """Make a client for the current context of a kubeconfig's content.

    *name*: the server's name in messages.
    """
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


# Call a function for many items, several at a time, and stop at once on ^C.


_AT_A_TIME = 8


def in_threads(items: Sequence[T], work: Callable[[T], R], *, done: Callable[[], None]) -> list[R]:
    """Return `[work(item) for item in items]`, worked on several at a time.

    *done* is called after each. The first exception is raised at once. The threads are daemons, so that the process can end while a
    server is slow; an executor would wait for them.
    """
    if not items:
        return []
    results: dict[int, R] = {}
    with ThreadPool(min(_AT_A_TIME, len(items))) as pool:
        for number, result in pool.imap_unordered(lambda number: (number, work(items[number])), range(len(items))):
            results[number] = result
            done()
    return [results[number] for number in range(len(items))]
