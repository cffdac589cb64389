"""Small pieces of SVG and text that the report's pictures share."""

from collections.abc import Mapping
from html import escape

_MIB = 1 << 20


def element(
    tag: str, content: str = "", attributes: Mapping[str, object] | None = None, **more: object
) -> str:
    """An element; `_` in a keyword's name stands for `-` and a trailing one is dropped (`class_`)."""
    pairs = {name.rstrip("_").replace("_", "-"): value for name, value in more.items()} | dict(
        attributes or {}
    )
    text = "".join(f' {name}="{escape(_number(value), quote=True)}"' for name, value in pairs.items())
    return f"<{tag}{text}>{content}</{tag}>" if content else f"<{tag}{text}/>"


def text(x: float, y: float, content: str, class_: str = "", anchor: str = "start") -> str:
    return element("text", escape(content), x=x, y=y, class_=class_ or "label", text_anchor=anchor)


def picture(width: float, height: float, content: str, title: str) -> str:
    """A drawing that scales with the page; `title` is for screen readers."""
    return element(
        "svg",
        element("title", escape(title)) + content,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        role="img",
        aria_label=title,
        xmlns="http://www.w3.org/2000/svg",
    )


def ticks(top: float, about: int = 5) -> list[float]:
    """Round values from 0 to `top` or a little less, roughly `about` of them."""
    if top <= 0:
        return [0.0]
    raw = top / about
    power = 10.0 ** (len(str(int(raw))) - 1) if raw >= 1 else 1.0
    while power > raw:
        power /= 10
    step = next((m * power for m in (1, 2, 5, 10) if m * power >= raw), power)
    return [i * step for i in range(int(top / step + 1e-9) + 1)]


def size(count: float) -> str:
    """Bytes for a reader: `66.9 MiB`."""
    if count >= 1024 * _MIB:
        return f"{count / (1024 * _MIB):.2f} GiB"
    if count >= _MIB / 10:
        return f"{count / _MIB:.1f} MiB"
    return f"{count / 1024:.1f} KiB" if count >= 1024 else f"{count:.0f} B"


def rate(bits: float) -> str:
    """bit/s for a reader: `91.3 Mbit/s`."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits >= scale:
            return f"{bits / scale:.1f} {unit}"
    return f"{bits:.0f} bit/s"


def times(copies: float) -> str:
    """Copies for a reader: `1.05×`."""
    return f"{copies:.2f}×" if copies >= 0.005 else "0×" if copies == 0 else "<0.01×"


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
