"""Whether the packages are there that read pages. Loads none of them."""

from importlib.util import find_spec


def installed() -> bool:
    """Return whether the packages that read pages are installed."""
    return all(find_spec(name) is not None for name in ("rapid_layout", "rapidocr", "cv2"))
