"""What tests ask of every model: the document that it is, and what it refuses."""

from typing import Any

import pytest
from pydantic import ValidationError

from jobspec.models.base import Model


def dump(model: Model) -> dict[str, Any]:
    """The document of a model, as somebody would write it."""
    return model.model_dump(by_alias=True, exclude_unset=True)


def refused_at(model: type[Model], data: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """The places of what a model refuses in data, which it has to."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    return [error["loc"] for error in caught.value.errors()]
