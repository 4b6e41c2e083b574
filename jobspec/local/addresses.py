"""Addresses of pods turned into those of this machine: each host name becomes 127.0.0.1, each port of a pod one that is free here."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LOCALHOST = "127.0.0.1"
#: The variables that hold nothing but the port at which processes meet.
_PORTS = ("MASTER_PORT", "PET_MASTER_PORT")


class Addresses:
    """Replaces the addresses of pods in texts, the same one always by the same."""

    __slots__ = ("_free_port", "_hosts", "_ports")

    def __init__(self, hosts: Iterable[str], free_port: Callable[[], int]) -> None:
        names = "|".join(re.escape(each) for each in sorted(hosts, key=len, reverse=True))
        domain = r"(?:\.[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"
        self._hosts = re.compile(rf"(?<![\w.-])(?:{names}){domain}(?::(\d+))?(?![\w-])")
        self._free_port = free_port
        self._ports: dict[str, int] = {}

    def in_text(self, text: str) -> str:
        """A text with its addresses replaced, such as `tcp://train-master-0:23456`."""
        return self._hosts.sub(lambda found: f"{_LOCALHOST}:{self._port(found[1])}" if found[1] else _LOCALHOST, text)

    def in_variable(self, name: str, value: str) -> str:
        """The value of a variable with its addresses replaced."""
        return str(self._port(value)) if name in _PORTS and value.isdecimal() else self.in_text(value)

    def _port(self, number: str) -> int:
        if number not in self._ports:
            self._ports[number] = self._free_port()
        return self._ports[number]
