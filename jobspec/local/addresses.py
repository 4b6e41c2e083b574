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

    __slots__ = ("_below", "_free_port", "_hosts", "_ports")

    def __init__(self, hosts: Iterable[str], free_port: Callable[[], int]) -> None:
        names = sorted(hosts, key=len, reverse=True)
        self._hosts = _pattern(names)
        self._below = _pattern([each for each in names if "." in each])
        self._free_port = free_port
        self._ports: dict[str, int] = {}

    def in_text(self, text: str) -> str:
        """A text with its addresses replaced, such as `tcp://train-master-0:23456`."""
        return self._replaced(self._hosts, text)

    def in_made(self, text: str) -> str:
        """A text made of variables with its addresses replaced: names below a subdomain alone, which no other value of a pod is."""
        return self._replaced(self._below, text)

    def in_variable(self, name: str, value: str) -> str:
        """The value of a variable with its addresses replaced."""
        return str(self._port(value)) if name in _PORTS and value.isdecimal() else self.in_text(value)

    def _replaced(self, hosts: re.Pattern[str], text: str) -> str:
        return hosts.sub(lambda found: f"{_LOCALHOST}:{self._port(found[1])}" if found[1] else _LOCALHOST, text)

    def _port(self, number: str) -> int:
        if number not in self._ports:
            self._ports[number] = self._free_port()
        return self._ports[number]


def _pattern(hosts: list[str]) -> re.Pattern[str]:
    """What finds the names of hosts, with the domains that may follow, and a port; nothing where there are no hosts."""
    names = "|".join(map(re.escape, hosts)) or r"(?!)"
    domain = r"(?:\.[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"
    return re.compile(rf"(?<![\w.-])(?:{names}){domain}(?::(\d+))?(?![\w-])")
