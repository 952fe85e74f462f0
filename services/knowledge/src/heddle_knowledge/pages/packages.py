"""Whether the packages are there that read pages. Loads none of them."""

from importlib.util import find_spec


def installed() -> bool:
    """Say whether the packages are there that read pages."""
    return all(find_spec(name) is not None for name in ("rapid_layout", "rapidocr", "cv2"))
