"""A rubric as clients send it."""

from typing import Any

EXAMPLE: dict[str, Any] = {
    "title": "Essay",
    "description": "How an essay is assessed.",
    "scoringType": "points",
    "maxScore": 10,
    "criteria": [
        {
            "id": "argument",
            "name": "Argument",
            "description": "Has a claim and defends it.",
            "weight": 100,
            "levels": [
                {"id": "strong", "score": 4, "label": "Strong", "description": "Clear and sharp."},
                {"id": "weak", "score": 1, "label": "Weak", "description": "Has no claim."},
            ],
        }
    ],
}
