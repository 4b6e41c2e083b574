"""Decide which CEL types are assignable to which, and infer type variables.

Follows cel-go checker/types.go (`internalIsAssignable`, `isValidTypeSubstitution`, `mostGeneral`, `substitute`) and checker/mapping.go.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from jobspec.validation.cel.signatures import DYN, NULL, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

_NOT_NULLABLE = ("bool", "bytes", "double", "int", "string", "uint", "list", "map", "type")


class Substitutions:
    """The types that type variables are bound to."""

    def __init__(self) -> None:
        self._types: dict[str, Type] = {}
        self._numbers = count()

    def new_variable(self) -> Type:
        """A new type variable, not bound to a type."""
        return Type(f"?{next(self._numbers)}")

    def instantiate(self, signature: Sequence[Type]) -> list[Type]:
        """The types of a signature with new type variables for its parameters."""
        parameters: dict[str, Type] = {}
        return [self._instantiate(each, parameters) for each in signature]

    def _instantiate(self, kind: Type, parameters: dict[str, Type]) -> Type:
        if len(kind.name) == 1:
            return parameters.setdefault(kind.name, self.new_variable())
        return Type(kind.name, tuple(self._instantiate(each, parameters) for each in kind.inside))

    def substitute(self, kind: Type, *, unknown_as_dyn: bool = False) -> Type:
        """A type with its bound variables replaced by their types; an unbound variable stays, or becomes `dyn`."""
        if is_type_variable(kind):
            known = self._types.get(kind.name)
            if known is not None:
                return self.substitute(known, unknown_as_dyn=unknown_as_dyn)
            return DYN if unknown_as_dyn else kind
        return Type(kind.name, tuple(self.substitute(each, unknown_as_dyn=unknown_as_dyn) for each in kind.inside)) if kind.inside else kind

    def are_assignable(self, some: Sequence[Type], others: Sequence[Type]) -> bool:
        """Whether types are assignable to others, pair by pair; if all are, the type variables stay bound."""
        before = dict(self._types)
        assignable = self._pairs_are_assignable(some, others)
        if not assignable:
            self._types = before
        return assignable

    def join(self, one: Type | None, other: Type) -> Type:
        """The common type of two types: the more general one, `dyn` if neither is assignable to the other."""
        if one is None:
            return other
        return _most_general(one, other) if self.are_assignable([one], [other]) else DYN

    def _pairs_are_assignable(self, some: Sequence[Type], others: Sequence[Type]) -> bool:
        return len(some) == len(others) and all(self._is_assignable(one, other) for one, other in zip(some, others, strict=True))

    def _is_assignable(self, one: Type, other: Type) -> bool:
        if is_type_variable(other):
            is_valid, is_known = self._is_valid_substitution(one, other)
            if is_valid or is_known:
                return is_valid
        if is_type_variable(one):
            return self._is_valid_substitution(other, one)[0]
        if DYN in (one, other):
            return True
        if NULL in (one, other):
            return one == other or (other if one == NULL else one).name not in _NOT_NULLABLE
        if one.name == "type":
            return other.name == "type"
        return one.name == other.name and self._pairs_are_assignable(one.inside, other.inside)

    def _is_valid_substitution(self, one: Type, variable: Type) -> tuple[bool, bool]:
        """Whether a type variable can be bound to a type, and whether it is bound already."""
        if one == variable:
            return True, True
        known = self._types.get(variable.name)
        if known is not None:
            return self._is_valid_with_known(one, variable, known), True
        if self._is_referenced_in(variable, one):
            return False, False
        self._types[variable.name] = one
        return True, False

    def _is_valid_with_known(self, one: Type, variable: Type, known: Type) -> bool:
        if one != known:
            if not self._is_assignable(one, known):
                return False
            wider = _most_general(one, known)
            if not self._is_referenced_in(variable, wider):
                self._types[variable.name] = wider
        return True

    def _is_referenced_in(self, variable: Type, within: Type) -> bool:
        if variable == within:
            return True
        if is_type_variable(within):
            known = self._types.get(within.name)
            return known is not None and self._is_referenced_in(variable, known)
        return any(self._is_referenced_in(variable, each) for each in within.inside)


def is_type_variable(kind: Type) -> bool:
    """Whether a type is a type variable."""
    return kind.name.startswith("?")


def _most_general(one: Type, other: Type) -> Type:
    return one if _is_equal_or_less_specific(one, other) else other


def _is_equal_or_less_specific(one: Type, other: Type) -> bool:
    if one == DYN or is_type_variable(one):
        return True
    if other == DYN or is_type_variable(other) or one.name != other.name:
        return False
    if one.name == "type":
        return True
    return len(one.inside) == len(other.inside) and all(map(_is_equal_or_less_specific, one.inside, other.inside))
