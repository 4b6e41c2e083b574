"""How many processes a call of mpirun starts, and what makes that unknown."""

import pytest

from jobspec.programs.mpirun import MpirunCommand, mpirun_in


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mpirun", "-np", "4", "python", "train.py"], MpirunCommand(4, 2)),
        (["/usr/bin/mpiexec", "--np=4", "a"], MpirunCommand(4, 1)),
        (
            ["mpirun", "--allow-run-as-root", "-bind-to", "none", "-map-by", "slot", "-n", "8", "-mca", "pml", "ob1", "a"],
            MpirunCommand(8, 7),
        ),
        (["mpirun", "-x", "A", "-mca", "btl", "^openib", "python", "-n", "3"], MpirunCommand()),
        (["mpirun", "-np", "4", "--map-by", "ppr:1:node", "a"], MpirunCommand(4, 2, places=True)),
        (["mpirun", "-np", "4", "-npernode", "2", "a"], MpirunCommand(4, 2, places=True)),
        (["mpirun", "-np", "4", "--hostfile", "/tmp/hosts", "a"], MpirunCommand(4, 2, names_hosts=True)),
        (["mpirun", "-np", "4", "--oversubscribe", "a"], MpirunCommand(4, 2, oversubscribes=True)),
        (["mpirun", "-np", "4", "--map-by", ":OVERSUBSCRIBE", "a"], MpirunCommand(4, 2, places=True, oversubscribes=True)),
        (["mpirun", "--mca", "rmaps_base_oversubscribe", "1", "-n", "4", "a"], MpirunCommand(4, 5, oversubscribes=True)),
        (["mpirun", "-np", "$(PROCESSES)", "a"], MpirunCommand(None, 2)),
        (["mpirun", "-np", "1", "a", ":", "-np", "3", "b"], MpirunCommand(None, 2)),
        (["mpirun", "-np", "2", "--of-another-release", "a"], MpirunCommand()),
        (["mpirun", "-np"], MpirunCommand(None, 2)),
        (["bash", "-c", "cd /app && exec mpirun -np 2 ./a"], MpirunCommand(2, 2)),
        (["bash", "-c", "if test -e a; then mpirun -np 2 ./a; fi"], None),
        (["bash", "-c", "mpirun -np 2 ./a; mpirun -np 3 ./b"], None),
        (["python", "train.py", "mpirun"], None),
        ([], None),
    ],
)
def test_a_call(words: list[str], expected: MpirunCommand | None) -> None:
    assert mpirun_in(words) == expected
