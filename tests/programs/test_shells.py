"""Scripts of shells: the commands that they run, and the variables that they use and set."""

import pytest

from jobspec.programs.shells import read_script, script_at


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["sh", "-c", "train"], 2),
        (["/bin/bash", "-lc", "train", "name"], 2),
        (["bash", "-eo", "pipefail", "-c", "train"], 4),
        (["bash", "--norc", "-c", "train"], 3),
        (["bash", "train.sh"], None),
        (["bash", "-c"], None),
        (["python", "-c", "print()"], None),
        ([], None),
    ],
)
def test_where_the_script_of_a_command_line_is(words: list[str], at: int | None) -> None:
    assert script_at(words) == at


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            "cd /app && exec torchrun \\\n  --nnodes 2 'a $X' \"b $Y\" # later\n",
            [["cd", "/app"], ["torchrun", "--nnodes", "2", "a $X", "b $(Y)"]],
        ),
        ("export A=1; B=2 env C=3 torchrun a.py 2>&1 | tee /log", [["export", "A=1"], ["torchrun", "a.py"], ["tee", "/log"]]),
        ("torchrun --nnodes=${N:-2} --rank=$(hostname) a.py > log", [["torchrun", "--nnodes=$()", "--rank=$()", "a.py"]]),
        ("cat <<END\nrm $X\nEND", [["cat"]]),
        ("cat << 'A' > a <<-B\nrm 1\nA\n\trm 2\n\tB\nls\n", [["cat"], ["ls"]]),
        ("cat <<A && ls\nrm 1", [["cat"], ["ls"]]),
        (r'echo "a \"b\" \$C" \$D', [["echo", 'a "b" $C', "$D"]]),
        ("", []),
    ],
)
def test_the_commands_of_a_script(text: str, commands: list[list[str]]) -> None:
    assert [list(each.words) for each in read_script(text).commands] == commands


def test_where_the_output_of_each_command_goes() -> None:
    script = read_script("a | b > c; d 2> e; f &> g; (h) | i; j || k >> l\ncat < m")
    assert [each.output for each in script.commands] == ["|", "c", "", "g", "", "", "", "l", ""]


@pytest.mark.parametrize(
    ("text", "used", "assigned"),
    [
        ("echo $A ${B} ${C:-1} ${D%.*} $((E + 1)) `F`", {"A", "B", "D", "E"}, set()),
        ("A=1; export B=$A C; read D; for E in 1 2; do echo $E; done", {"A", "E"}, {"A", "B", "C", "D", "E"}),
        (": ${A:=1}; echo $(basename $B) '$C' \\$D $1 $?", {"B"}, {"A"}),
        ("echo $(RANK)", {"RANK"}, set()),
    ],
)
def test_the_variables_of_a_script(text: str, used: set[str], assigned: set[str]) -> None:
    script = read_script(text)
    assert (script.used, script.assigned) == (used, assigned)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('A=1 B=$A; export C=$B.x D; readonly E="a b"', {"A": "1", "B": "$(A)", "C": "$(B).x", "E": "a b"}),
        ("if [ $R = 0 ]; then A=1; fi; until true; do B=2; done; { C=3; }", {"A": "1", "B": "2", "C": "3"}),
        ("A=1; A=2; B=1; B+=2; for C in 1; do C=2; done; D=$(hostname); read E; : ${F:=1}; F=2", {}),
        ("A=1 train; env B=1 train; echo C=1; export -n D", {}),
        ("A=1; A=2 train", {}),
    ],
)
def test_the_values_that_a_script_gives(text: str, values: dict[str, str]) -> None:
    assert dict(read_script(text).values) == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat <<END\n$A \\$B `echo $C`\nEND\n$D", [("$A \\$B `echo $C`", ["A"])]),
        ("cat <<'END'\n$A\nEND", [("$A", [])]),
        ("cat <<\\END <<B\n$A\nEND\n$C", [("$A", []), ("$C", ["C"])]),
        ("cat <<< $A\n$B", []),
    ],
)
def test_the_here_documents_of_a_script(text: str, expected: list[tuple[str, list[str]]]) -> None:
    assert [(each.text, list(each.used)) for each in read_script(text).here_documents] == expected


@pytest.mark.parametrize(
    ("text", "is_straight", "reads_files"),
    [
        ("cat << EOF > a.py\ndef f():\n    g(1)\nEOF\npython a.py", True, False),
        ("cat << EOF > a.py; (cd b)\nf()\nEOF\npython a.py", False, False),
        ("set -e; a && b | c || d &\nwait", True, False),
        ("if a; then b; fi", False, False),
        ("for a in 1; do b; done", False, False),
        ("f() { a; }; f", False, False),
        ("(a)", False, False),
        (". ./env.sh && a", True, True),
        ("source /opt/venv/bin/activate && a", True, False),
        ("source /opt/conda/bin/activate && a", True, True),
        ("source /opt/tools/bin/activate train && a", True, True),
        ('eval "$A"', True, True),
    ],
)
def test_what_a_script_surely_runs(text: str, *, is_straight: bool, reads_files: bool) -> None:
    script = read_script(text)
    assert (script.is_straight, script.reads_files) == (is_straight, reads_files)
    assert [each.is_alternative for each in read_script("a || b && c; d").commands] == [False, True, False, False]
