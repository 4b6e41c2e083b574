"""Quantities of pods as the server compares them; those of large numbers are what servers were seen to say."""

import pytest

from jobspec.go.quantities import amount_of, fits_pages, is_whole, whole_number


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("1", 1000),
        ("1m", 1),
        ("0.0001", 1),
        ("-0.0001", -1),
        ("-5e-10", -1),
        (".", 0),
        ("1.5Gi", 1_610_612_736_000),
        ("16Ei", ((1 << 63) - 1) * 1000),
        ("1e20", 10**23),
        ("1e4294967297", 10_000),
    ],
)
def test_thousandths(text: str, thousandths: int) -> None:
    assert amount_of(text) == thousandths


@pytest.mark.parametrize("text", ["1", "1000m", "0", "1e30", "123456789E"])
def test_whole_numbers(text: str) -> None:
    assert is_whole(text)


@pytest.mark.parametrize("text", ["0.5", "1n", "12345678901234567890123"])
def test_numbers_that_a_server_takes_for_fractions(text: str) -> None:
    assert not is_whole(text)


@pytest.mark.parametrize(("size", "text"), [("2Mi", "4Mi"), ("2Mi", "0"), ("9E", "32E"), ("8Ei", "16E")])
def test_multiples_of_a_page(size: str, text: str) -> None:
    assert fits_pages(size, text)


@pytest.mark.parametrize(("size", "text"), [("2Mi", "3Mi"), ("3", "1m"), ("", "0"), ("x", "0"), ("0", "0"), ("1.5", "0"), ("16E", "0")])
def test_no_multiples_and_no_pages(size: str, text: str) -> None:
    assert not fits_pages(size, text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1n", 1),
        ("-1500m", -2),
        ("9E", 9 * 10**18),
        ("1e19", 0),
        ("20000P", 0),
        ("1e9999", 0),
        ("8Ei", 2**63 - 1),
        ("18446744073709551617", 1),
        ("99999999999999999k", 7_766_279_631_452_240_920),
        ("4 GPUs", 0),
    ],
)
def test_whole_numbers_that_operators_read(text: str, number: int) -> None:
    """What `Value` of k8s.io/apimachinery 0.36 returned for these."""
    assert whole_number(text) == number
