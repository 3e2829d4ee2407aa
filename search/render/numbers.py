"""Numbers as text."""


def fixed(value: float, places: int, *, signed: bool = False) -> str:
    """A number with so many decimals; what rounds to zero has no minus sign. Signed: with a plus where it has none."""
    number = f"{value:.{places}f}"
    if float(number) == 0:
        number = number.removeprefix("-")
    return f"+{number}" if signed and not number.startswith("-") else number
