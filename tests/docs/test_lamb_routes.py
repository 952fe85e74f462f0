"""The page about the routes of LAMB's frontend, and the command that compares them."""

from typing import Any

from benchmarks.lamb.frontend import called, filled, members_read
from docs.project.lamb_routes import PAGE, page, routes

CONTRACT: dict[str, Any] = {
    "paths": {"/creator/looms/{id}/warp": {"get": {}, "put": {}}, "/creator/lost": {"get": {}}}
}


def test_the_page_says_who_answers_now() -> None:
    assert PAGE.read_text() == page()
    assert len(set(routes())) == len(routes()) == 140


def test_a_route_is_called_if_a_template_of_the_frontend_has_it() -> None:
    sources = "axios.get(`${base}/looms/${encodeURIComponent(id)}/warp?full=1`); item.name"
    assert list(called(CONTRACT, sources)) == [
        ("GET", "/creator/looms/{id}/warp"),
        ("PUT", "/creator/looms/{id}/warp"),
    ]
    assert filled("/looms/{id}", {"id": "7"}, exists=True) == "/looms/7"
    assert filled("/looms/{id}", {"id": "7"}, exists=False) == "/looms/999999"
    assert members_read([{"name": "a", "17": {"weft": 1}}], sources) == {"name"}
