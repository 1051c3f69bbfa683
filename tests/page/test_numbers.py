import pytest

from posexp.page.numbers import number


@pytest.mark.parametrize(
    ("value", "form", "expected"),
    [
        (2.17354, "", "2.174"),
        (128, "", "128"),
        (32768, "", "32768"),
        (4_096_000, "", "4.096M"),
        (-0.5, "", "\N{MINUS SIGN}0.5"),
        (0.0001, "", "0.0001"),
        (-0.0123, "+.3f", "\N{MINUS SIGN}0.012"),
        (0.0123, "+.3f", "+0.012"),
    ],
)
def test_numbers_as_they_are_read(value, form, expected):
    assert number(value, form) == expected
