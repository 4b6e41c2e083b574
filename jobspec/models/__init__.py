"""The kinds as pydantic models; each is imported when it is first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobspec.models.base import Model
    from jobspec.models.overlay import Overlay as Overlay
    from jobspec.models.persistentvolumeclaim import PersistentVolumeClaim as PersistentVolumeClaim
    from jobspec.models.pytorchjob import PyTorchJob as PyTorchJob

_MODULES = {"Overlay": "overlay", "PersistentVolumeClaim": "persistentvolumeclaim", "PyTorchJob": "pytorchjob"}

__all__ = ["Overlay", "PersistentVolumeClaim", "PyTorchJob"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def roots() -> "list[type[Model]]":
    """The models of all kinds."""
    return [__getattr__(name) for name in _MODULES]  # type: ignore[misc]
