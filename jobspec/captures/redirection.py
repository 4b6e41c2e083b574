"""Send the Kubernetes clients of a Python program to a server on loopback, and say with each request which line sent it.

This file runs in the program's own Python, which may lack jobspec, so that it imports the standard library alone. `main` runs a program;
`redirected` is a context manager for the running one.
"""

from __future__ import annotations

import http.client
import os
import runpy
import socket
import subprocess
import sys
import sysconfig
from contextlib import contextmanager
from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType
    from typing import Any

#: The header in which a request says the file and the line that sent it.
PLACE = "X-Jobspec-Place"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SENDING = ("connect", "connect_ex", "sendto", "sendmsg")
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_OF_PYTHON = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@contextmanager
def redirected(port: int, kubeconfig: str) -> Iterator[None]:
    """Send Kubernetes clients to the server on a port of loopback.

    Connections and datagrams to any other host or port raise ConnectionError. Programs that this one starts find the server by their
    environment: as their cluster, and as their proxy, which refuses what is not for itself. *kubeconfig*: the path of a file that names
    the server.
    """
    undo = [_patched(http.client.HTTPConnection, "putrequest", _with_place)]
    undo += [_patched(socket.socket, name, lambda given: _guarded(given, port)) for name in _SENDING if hasattr(socket.socket, name)]
    undo += [_patched(socket, name, _resolving_loopback) for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex")]
    environment = _environment(port, kubeconfig)
    undo.append(_patched(subprocess.Popen, "__init__", lambda given: _within(given, environment)))
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    undo += _patched_configuration(kubeconfig)
    try:
        yield
    finally:
        for each in reversed(undo):
            each()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _environment(port: int, kubeconfig: str) -> dict[str, str]:
    """Return the variables that make the server the cluster of programs, and their proxy to other hosts."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), f"http://{_LOOPBACK[0]}:{port}")
    named = {**proxies, "NO_PROXY": f"{_LOOPBACK[0]}:{port}"}
    return {"KUBECONFIG": kubeconfig, **named, **{name.lower(): value for name, value in named.items()}}


def _within(start: Callable[..., None], environment: Mapping[str, str]) -> Callable[..., None]:
    """Start programs with these variables, though their caller gives them an environment of its own."""

    @wraps(start)
    def started(self: Any, *arguments: Any, **options: Any) -> None:
        if options.get("env") is not None:
            options["env"] = {**options["env"], **environment}
        start(self, *arguments, **options)

    return started


def _patched(holder: Any, name: str, wrap: Callable[[Any], Any]) -> Callable[[], None]:
    """Replace an attribute by what *wrap* makes of it. Return a function that undoes it."""
    is_own, given = name in vars(holder), getattr(holder, name)
    setattr(holder, name, wrap(given))

    def undo() -> None:
        if is_own:
            setattr(holder, name, given)
        else:
            delattr(holder, name)

    return undo


def _with_place(putrequest: Callable[..., None]) -> Callable[..., None]:
    def with_place(self: http.client.HTTPConnection, method: str, *arguments: object, **options: object) -> None:
        putrequest(self, method, *arguments, **options)
        if method in _CHANGING and self.host in _LOOPBACK:
            self.putheader(PLACE, _calling_line().encode("utf-8").hex())

    return with_place


def _calling_line() -> str:
    """The innermost line of the stack outside of Python's library and of installed packages, as `LINE FILE`; empty if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen") and not os.path.realpath(file).startswith(_OF_PYTHON):
            return f"{frame.f_lineno} {file}"
        frame = frame.f_back
    return ""


def _guarded(send: Callable[..., Any], port: int) -> Callable[..., Any]:
    """Guard a sending function. Its last argument is the address, unless the socket is connected."""

    def guarded(self: socket.socket, *arguments: Any) -> Any:
        address = arguments[-1]
        if isinstance(address, tuple) and (address[0] not in _LOOPBACK or address[1] != port):
            raise ConnectionError(f"jobspec capture keeps the program on this machine: no connection to {address[0]}:{address[1]}")
        return send(self, *arguments)

    return guarded


def _resolving_loopback(getaddrinfo: Callable[..., Any]) -> Callable[..., Any]:
    def resolving(host: str | bytes | None, *arguments: object, **options: object) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and name not in _LOOPBACK:
            raise socket.gaierror(socket.EAI_NONAME, f"jobspec capture keeps the program on this machine: no look-up of {name}")
        return getaddrinfo(host, *arguments, **options)

    return resolving


def _patched_configuration(kubeconfig: str) -> list[Callable[[], None]]:
    """Let the official client load the kubeconfig, whatever file, context or pod the program names. Return what undoes it."""
    try:
        from kubernetes import client, config
    except ImportError:
        return []
    given, default = config.load_kube_config, getattr(client.Configuration, "_default", None)

    def load(*_: object, client_configuration: Any = None, **__: object) -> Any:
        return given(config_file=kubeconfig, client_configuration=client_configuration)

    def listing(listed: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *_, **__: listed(config_file=kubeconfig)

    undo = [_patched(config, name, lambda _: load) for name in ("load_kube_config", "load_incluster_config", "load_config")]
    return [*undo, _patched(config, "list_kube_config_contexts", listing), lambda: setattr(client.Configuration, "_default", default)]


def main(port: str, kubeconfig: str, script: str, *arguments: str) -> None:
    """Run a script as Python would, redirected."""
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    with redirected(int(port), kubeconfig):
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
