"""Which sizes make a model, said in the words of the command line."""

MOST_LAYERS = 10000


class SizeError(ValueError):
    """Sizes of which there is no model; the message names the flags."""


def flag(name):
    return "--" + name.replace("_", "-")


def check(symbols={}, **sizes):
    """All `sizes` are whole numbers from 1 on, or None if they follow from others; `symbols` (batch, seq, ...) may be names of dimensions."""
    wrong = []
    for name, value in {**sizes, **symbols}.items():
        if value is None:
            continue
        if isinstance(value, str):
            if name not in symbols or not value.isidentifier():
                wrong.append(f"{flag(name)} {value}: neither a number nor a name")
        elif value < 1:
            wrong.append(f"{flag(name)} {value}: less than 1")
        elif value >= 2**31 or name.endswith("layers") and value > MOST_LAYERS:
            wrong.append(f"{flag(name)} {value}: more than {MOST_LAYERS if name.endswith('layers') else 2**31 - 1}")
    if wrong:
        raise SizeError("; ".join(wrong))


def within(name, value, least, most):
    """The number `value` is from `least` to `most`."""
    if not least <= value <= most:
        raise SizeError(f"{flag(name)} {value}: not from {least:g} to {most:g}")


def divides(part, whole, **sizes):
    """The size `part` divides the size `whole`."""
    if sizes[whole] % sizes[part]:
        raise SizeError(f"{flag(part)} {sizes[part]} does not divide {flag(whole)} {sizes[whole]}")


def head_width(hidden, heads, head_dim=None):
    """Elements of one attention head: `head_dim`, or hidden / heads."""
    if head_dim is None:
        divides("heads", "hidden", heads=heads, hidden=hidden)
    return hidden // heads if head_dim is None else head_dim


def default_positions(seq, positions, usual):
    """Rows of a table of learned positions: as told, else the sequence if it is fixed, else what is usual."""
    if positions is None:
        positions = usual if isinstance(seq, str) else seq
    if not isinstance(seq, str) and seq > positions:
        raise SizeError(f"--seq {seq} is more than --positions {positions}")
    return positions
