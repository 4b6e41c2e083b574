"""The program of a container: its words as they run, and what starts the processes that train."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.outcome.torchrun import given, length_of_start
from jobspec.outcome.words import starts_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.expansion import ExpandedJob, ExpandedRole

    Started = tuple[ExpandedRole, "Program"]

#: The options by which torchrun is told where the others are.
_PLACES = ("--rdzv-endpoint", "--master-addr")


class Told:
    """An option of torchrun in a command line: its word, and its value."""

    __slots__ = ("value", "word")

    def __init__(self, word: MarkedTree, value: str) -> None:
        self.word = word
        self.value = value


class Program:
    """What a container runs."""

    __slots__ = ("container", "variables", "words")

    def __init__(self, container: MarkedTree) -> None:
        self.container = container
        self.words = [each for field in ("command", "args") for each in items(container.get(field))]
        """The words of `command` and `args`; none where the image's own program runs."""
        self.variables = {text(each, "name"): each for each in items(container.get("env"))}
        """By name; of two of one name the last counts, as for Kubernetes."""

    @property
    def is_torchrun(self) -> bool:
        """Whether the container starts torchrun itself, and not in the text of a shell command."""
        return self._start > 0

    @property
    def is_plain_python(self) -> bool:
        """Whether the container starts a Python file or module directly, without a launcher."""
        if not self._is_python or len(self.words) == 1:
            return False
        following = str(self.words[1].value)
        return following != "-c" and (following != "-m" or "." not in str(self.words[-1].value)) and not self.mentions(*_LAUNCHERS)

    @property
    def _is_python(self) -> bool:
        return starts_python([str(word.value) for word in self.words[:1]])

    @property
    def _start(self) -> int:
        return length_of_start([str(word.value) for word in self.words[:3]])

    def mentions(self, *texts: str) -> bool:
        """Whether one of the texts stands in one of the words."""
        return any(each in str(word.value) for word in self.words for each in texts)

    @property
    def launched(self) -> Sequence[MarkedTree]:
        """The words behind torchrun; those of another program are none."""
        return self.words[self._start :] if self._start else ()

    @property
    def is_launch(self) -> bool:
        """Whether the container starts `python -m torch.distributed.launch`, torchrun's predecessor."""
        return self._start > 1 and str(self.words[2].value) == "torch.distributed.launch"

    def option(self, *names: str) -> Told | None:
        """The first of torchrun's options that is there and is one of these; None where none is."""
        words = self.launched
        if not words:
            return None
        told = (each for each in given([str(word.value) for word in words]) if each.option in names)
        return next((Told(words[each.at], each.value or "") for each in told), None)

    @property
    def knows_where_others_are(self) -> bool:
        """Whether a variable or an option tells torchrun where the processes meet."""
        return bool({"PET_MASTER_ADDR", "PET_RDZV_ENDPOINT"} & self.variables.keys()) or self.option(*_PLACES) is not None


_LAUNCHERS = ("accelerate", "deepspeed", "torch.distributed", "ray", "horovod", "mpirun", "composer", "colossalai")


def started(job: ExpandedJob) -> list[Started]:
    """The roles that train, each with its program, but for those whose program is in the image."""
    found = [(role, role.training_container()) for role in job.roles()]
    programs = [(role, Program(container)) for role, container in found if container]
    return [(role, program) for role, program in programs if program.words]
