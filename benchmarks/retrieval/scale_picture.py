"""Draws what searches cost against how much there is, as SVG, both axes logarithmic."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 200, 40, 60
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#56b4e9", "#cc79a7", "#555555")


def drawn(costs: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """Return the picture.

    Args:
        costs: For each kind of search, passages and milliseconds of processor time.
    """
    points = [point for line in costs.values() for point in line]
    across = _span([count for count, _ in points])
    up = _span([cost for _, cost in points])

    def place(count: float, cost: float) -> tuple[float, float]:
        x = _LEFT + _part(count, across) * (_WIDTH - _LEFT - _RIGHT)
        return x, _HEIGHT - _BOTTOM - _part(cost, up) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="13">'
        ),
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">Processor time of a search, ms</text>',
        (
            f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 14}" text-anchor="middle">'
            "passages in the collection</text>"
        ),
    ]
    for power in range(across[0], across[1] + 1):
        x, y = place(10.0**power, 10.0 ** up[0])
        parts.append(_line((x, y), (x, _TOP), "#dddddd"))
        parts.append(
            f'<text x="{x:.0f}" y="{y + 20:.0f}" text-anchor="middle">{10**power:,}</text>'
        )
    for power in range(up[0], up[1] + 1):
        x, y = place(10.0 ** across[0], 10.0**power)
        parts.append(_line((x, y), (_WIDTH - _RIGHT, y), "#dddddd"))
        parts.append(
            f'<text x="{x - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{10.0**power:g}</text>'
        )
    for number, (kind, line) in enumerate(costs.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [place(*point) for point in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places)
        y = _TOP + 14 + 20 * number
        parts.append(_line((_WIDTH - _RIGHT + 14, y), (_WIDTH - _RIGHT + 34, y), colour))
        parts.append(f'<text x="{_WIDTH - _RIGHT + 40}" y="{y + 4}">{escape(kind)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _span(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around values, two at least."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def _part(value: float, span: tuple[int, int]) -> float:
    return (log10(value) - span[0]) / (span[1] - span[0])


def _line(start: tuple[float, float], end: tuple[float, float], colour: str) -> str:
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}" stroke-width="2"/>'
    )
