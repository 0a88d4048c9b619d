"""What a bench found: figures, the bounds they are held to, and the table a person reads."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


class NotMeasured(Exception):
    """A figure could not be had: the words say why. The run ends non-zero."""


class Skipped(Exception):
    """A figure needs something this machine does not have; said aloud, no failure."""


@dataclass(frozen=True)
class Bound:
    """What a figure is held to: `at_least` or `at_most` a limit in the figure's unit."""

    limit: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether `value` is within."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


@dataclass
class Figure:
    """One figure of a bench: a median, its unit, its bound, and the rounds behind it."""

    bench: str
    name: str
    value: float
    unit: str = "x"
    bound: Bound | None = None
    rounds: Sequence[float] = ()
    raw: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, or `-` for a figure that is only reported."""
        if self.bound is None:
            return "-"
        return "ok" if self.bound.met(self.value) else "MISSED"


def ratio_of_rounds(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, list[float]]:
    """The median of the rounds' ratios, and the ratios: round i against round i.

    The rounds are taken in turns (A B A B), so that what the machine does besides
    falls on both sides of a ratio.
    """
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return statistics.median(ratios), ratios


def short(value: float) -> str:
    """A number as a person reads it: about three significant digits."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.01:
        return f"{value:.3g}"
    return f"{value:.2e}"


def _raw_words(figure: Figure) -> str:
    parts = [
        f"{key} {short(item) if isinstance(item, (int, float)) else item}"
        for key, item in figure.raw.items()
    ]
    if figure.rounds:
        parts.append(f"rounds {' '.join(short(item) for item in figure.rounds)}")
    if figure.note:
        parts.append(figure.note)
    return "; ".join(parts)


def print_figures(figures: Sequence[Figure]) -> None:
    """The table: one line a figure, its raw figures beneath it."""
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        bound = str(figure.bound) if figure.bound else ""
        value = f"{short(figure.value)} {figure.unit}"
        print(f"  {figure.name:<{width}}  {value:>16}  {bound:>9}  {figure.verdict}")
        words = _raw_words(figure)
        if words:
            print(f"  {'':<{width}}    {words}")


def write_json(path: Path, figures: Sequence[Figure], problems: Sequence[str]) -> None:
    """Every figure with its verdict, and what could not be measured, as one JSON file."""
    body = {
        "figures": [
            {
                **asdict(figure),
                "bound": str(figure.bound) if figure.bound else None,
                "verdict": figure.verdict,
            }
            for figure in figures
        ],
        "notMeasured": list(problems),
    }
    path.write_text(json.dumps(body, indent=2) + "\n")
