"""Variables in texts, as Flux substitutes them. The answers are those of github.com/fluxcd/pkg/envsubst."""

import pytest

from jobspec.repository.envsubst import BadSubstitution, substitute

VALUES = {"name": "train", "empty": "", "path": "a/b.tar.gz"}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("${name}", "train"),
        ("$name $(name) $1 a$", "$name $(name) $1 a$"),
        ("$${name} $$name $$", "${name} $name $"),
        ("$$${name}", "$train"),
        ("${empty:-no} ${unset:=no} ${unset=no} ${name:-no}", "no no no train"),
        ("${unset:-${name}-1}", "train-1"),
        ("${#name}", "5"),
        ("${name^} ${name^^} ${name,,}", "Train TRAIN train"),
        ("${name:1} ${name:1:2} ${name:-2}", "rain ra train"),
        ("${path/b/c} ${path//a/c} ${path/#a/c} ${path/%gz/xz}", "a/c.tar.gz c/b.tcr.gz c/b.tar.gz a/b.tar.xz"),
        ("${path#*/} ${path%.*} ${path%%.*} ${path##*.}", "b.tar.gz a/b.tar a/b gz"),
    ],
)
def test_values_are_put_in_place_of_variables(text: str, made: str) -> None:
    assert substitute(text, VALUES) == (made, ())


def test_a_variable_without_a_value_stays_or_is_empty() -> None:
    assert substitute("${a}-${b^^}-${a}", VALUES) == ("${a}-${b^^}-${a}", ("a", "b"))
    assert substitute("${a}-${b^^}-${a}", VALUES, keep=lambda name: name == "a") == ("${a}--${a}", ("a", "b"))


@pytest.mark.parametrize("text", ["${LIST[@]}", "${name", "${}", "${!name}", "${name-no}", "${@}", "${name:-${"])
def test_what_cannot_be_parsed(text: str) -> None:
    with pytest.raises(BadSubstitution):
        substitute(f"echo {text}", VALUES)
