"""The program of a container, what starts the processes that train, and whether it takes its arguments."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.programs import command_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.operators.expansion import ExpandedJob, ExpandedRole

    Started = tuple[ExpandedRole, "TrainingProgram"]
    Words = Sequence[MarkedTree]
    #: The word of an option of torchrun, and its value.
    Option = tuple[MarkedTree, str]


#: The options by which torchrun finds the others.
_PLACES = ("--rdzv-endpoint", "--master-addr")


class TrainingProgram:
    """What a container runs."""

    __slots__ = ("_start", "container", "texts", "variables", "words")

    def __init__(self, container: MarkedTree) -> None:
        self.container = container
        self.words = [each for field in ("command", "args") for each in items(container.get(field))]
        """The words of `command` and `args`; none where the image's own program runs."""
        self.texts = texts(self.words)
        self._start = command_lines.length_of_start(self.texts)
        self.variables = {text(each, "name"): each for each in items(container.get("env"))}
        """By name; of two of one name the last counts, as for Kubernetes."""

    @property
    def is_torchrun(self) -> bool:
        """Whether the container starts torchrun directly, not in a shell command string."""
        return self._start > 0

    @property
    def is_plain_python(self) -> bool:
        """Whether the container starts a Python file or module directly, without a launcher."""
        return command_lines.is_plain_python(self.texts)

    def mentions(self, *texts: str) -> bool:
        """Whether one of the words contains one of the texts."""
        return any(each in word for word in self.texts for each in texts)

    @property
    def launched(self) -> Sequence[MarkedTree]:
        """The words after `torchrun`; none for another program."""
        return self.words[self._start :] if self._start else ()

    @property
    def is_launch(self) -> bool:
        """Whether the container starts `python -m torch.distributed.launch`, torchrun's predecessor."""
        return self._start > 1 and self.texts[2] == "torch.distributed.launch"

    def option(self, *names: str) -> Option | None:
        """The first of torchrun's options that is there and is one of these; None where none is."""
        words = self.launched
        return next(((words[each.at], each.value or "") for each in command_lines.options_of(texts(words)) if each.option in names), None)

    @property
    def knows_where_others_are(self) -> bool:
        """Whether a variable or an option says where the processes meet."""
        return bool({command_lines.MASTER_ADDR, command_lines.ENDPOINT} & self.variables.keys()) or self.option(*_PLACES) is not None


def started(job: ExpandedJob) -> list[Started]:
    """The training roles, each with its program; without roles that run the default program of their image."""
    found = [(role, role.training_container()) for role in job.roles]
    programs = [(role, TrainingProgram(container)) for role, container in found if container]
    return [(role, program) for role, program in programs if program.words]


def texts(words: Words) -> list[str]:
    """Return the words as strings."""
    return [str(each.value) for each in words]
