"""Facts about public images in which training runs: what starts the arguments of a container, and which users they know.

From their build files: pytorch/pytorch `Dockerfile`, docker-library/python, tensorflow/build, NVIDIA's containers.
"""

from __future__ import annotations

from jobspec.kubernetes.pods.defaults import image_name

_PYTORCH, _PYTHON = "docker.io/pytorch/pytorch", "docker.io/library/python"
_SYSTEMS = ("docker.io/library/ubuntu", "docker.io/library/debian")
_NVIDIA = ("docker.io/nvidia/cuda", *(f"nvcr.io/nvidia/{each}" for each in ("cuda", "pytorch", "tensorflow", "jax")))
#: Images without an entrypoint, or with one that starts the arguments as a program.
_STARTS_ARGUMENTS = frozenset((_PYTORCH, _PYTHON, "docker.io/tensorflow/tensorflow", *_SYSTEMS, *_NVIDIA))
#: Images of which /etc/passwd has the users of their system alone, and perhaps one with the number 1000.
_SYSTEM_USERS_ONLY = frozenset((_PYTORCH, _PYTHON, *_SYSTEMS, *_NVIDIA))
_LARGEST_OF_SYSTEM, _NOBODY = 1000, 65534
_LARGEST_KNOWN_USER = 65535
"""Images know users up to this number; greater ones are of a namespace of OpenShift, for example."""


def starts_arguments(image: str) -> bool:
    """Whether an image certainly starts the arguments of a container as a program."""
    return _name(image) in _STARTS_ARGUMENTS


def may_know_user(image: str, user: int) -> bool:
    """Whether /etc/passwd of an image may have a user, by number."""
    if user > _LARGEST_KNOWN_USER:
        return False
    return user <= _LARGEST_OF_SYSTEM or user == _NOBODY or _name(image) not in _SYSTEM_USERS_ONLY


def _name(image: str) -> str:
    """Return the registry and repository of an image; empty if the text is no image's name."""
    found = image_name(image)
    return found["name"] if found else ""
