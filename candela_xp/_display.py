"""Arrays and layouts as pictures: `draw`, and what notebooks show."""

from __future__ import annotations

from html import escape

from candela_xp import _device
from candela_xp._array import NDArray
from candela_xp._drawing import Label, drawing, is_drawn_whole
from candela_xp._layout import Layout, Shape

_LONGEST = 9  # characters of a value in a cell


class Drawing(str):
    """A picture as the text of an SVG element, which notebooks show as the picture."""

    __module__ = "candela_xp"
    __slots__ = ()

    def _repr_html_(self) -> str:
        """The picture itself: put into the page, it takes the colours of the page."""
        return str(self)


def draw(x: NDArray | Layout, /) -> Drawing:
    """Draw how an array, or a layout without one, lies in memory.

    Parameters
    ----------
    x : NDArray or Layout
        Of any number of axes, empty and huge ones too. A pending array is computed, since its values are shown.

    Returns
    -------
    Drawing
        A str that holds an SVG element: ``shape``, ``stride``, ``adj_stride``, ``offset`` and ``len`` (in elements);
        the grid of the elements, matrices of the last two axes; the cells of memory that they lie in, and the path of
        a walk in row-major order. Cells have the colour of the step that reads them first. Of large arrays a part is
        drawn, and the picture says how much is left out. The same array gives the same text, which holds no script
        and no reference to anything outside.

    Raises
    ------
    TypeError
        ``x`` is neither.

    Notes
    -----
    Notebooks show this picture for ``x.layout``, and for ``x`` where all elements are drawn: of a matrix 12 by 16,
    of a stack 256. Of larger ones they show the values as text. Not in the standard.

    Examples
    --------
    >>> import candela_xp as xp
    >>> x = xp.reshape(xp.arange(12), (3, 4))
    >>> picture = xp.draw(x[::2, ::-1])
    >>> picture[:4], picture[-6:]
    ('<svg', '</svg>')
    """
    if isinstance(x, Layout):
        return Drawing(drawing(x))
    if not isinstance(x, NDArray):
        raise TypeError(f"draw: x must be an NDArray or a Layout, got a {type(x).__name__}")
    return Drawing(drawing(x.layout, _values(x), _cells(x)))


def _cells(array: NDArray) -> int:
    """Elements that the buffer holds."""
    return array._memory.nbytes // array.itemsize


def _values(array: NDArray) -> Label:
    """The text of each element: shortened for its cell, and in full."""
    view, kind = array._numpy(), array.dtype.kind

    def label(index: Shape) -> tuple[str, str]:
        value = view[index]
        if kind == "float":
            number: float | complex = float(value)
            short = f"{number:.4g}"
        elif kind == "complex":
            number = complex(value)
            short = f"{number:.2g}"
        else:
            number = bool(value) if kind == "bool" else int(value)
            short = str(number)
        # A complex number has two parts to show.
        longest = _LONGEST if kind != "complex" else 2 * _LONGEST
        return short if len(short) <= longest else short[: longest - 1] + "…", str(number)

    return label


def _repr_html_(self: NDArray) -> str:
    """What a notebook shows: dtype and memory, then the picture of a small array, or the values of a large one."""
    layout = self.layout
    memory = f"{_cells(self) * self.itemsize} bytes of memory"
    device = "" if self.device is _device.CPU else f", {self.device}"
    line = f"NDArray, {self.dtype}, shape {layout.shape}{device}, {memory}"
    if is_drawn_whole(layout):
        return f"<div><div>{escape(line)}</div>{draw(self)}</div>"
    line += f", stride {layout.stride}, offset {layout.offset}"
    return f"<div><div>{escape(line)}</div><pre>{escape(repr(self))}</pre></div>"


# Attached here, where it is defined: the array itself knows nothing of pictures.
NDArray._repr_html_ = _repr_html_  # type: ignore[attr-defined]
