"""Quantities as Kubernetes writes them."""

import pytest

from jobspec.go.quantities import canonical_quantity, is_endless, quantity_of


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("1", "1"),
        ("1.0", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1024Mi", "1Gi"),
        ("1023", "1023"),
        ("1000", "1k"),
        ("10000", "10k"),
        ("1500", "1500"),
        ("1000Ki", "1000Ki"),
        ("512", "512"),
        ("0.1Ki", "102400m"),
        ("1e3", "1e3"),
        ("12E2", "1200"),
        ("5E", "5E"),
        ("100000000000000000000", "100E"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("+2", "2"),
        (".5", "500m"),
        ("-1500m", "-1500m"),
        ("-0.1n", "-1n"),
        ("Gi", "0"),
        ("1e30", "1e30"),
        ("1e-3", "1e-3"),
        ("5e-1", "500e-3"),
        ("1e-12", "1e-9"),
        ("2e999999999", "2e999999999"),
        ("1E", "1E"),
        ("1.5e3", "1500"),
    ],
)
def test_quantities(written: str, sent: str) -> None:
    assert canonical_quantity(written) == sent


@pytest.mark.parametrize(
    ("text", "endless"), [("1e10000000", False), ("1e10000001", True), ("1E-10000001", True), ("1e4294967297", False), ("1E", False)]
)
def test_quantities_without_an_end(text: str, endless: bool) -> None:
    assert is_endless(text) == endless


@pytest.mark.parametrize("value", [None, "", "one", "12abc", "1.2.3", True, {}, []])
def test_what_is_no_quantity_counts_as_zero(value: object) -> None:
    assert quantity_of(value).nanos == 0


def test_an_amount_with_a_long_exponent_can_be_written() -> None:
    assert str(quantity_of("1e999999999")) == "1e99"
