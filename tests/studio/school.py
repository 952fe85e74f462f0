"""A school for the tests of the chat: a teacher's assistants, and a learner."""

from contextlib import AbstractContextManager
from typing import Any

from knowledge.pages.pdfs import pdf
from studio.harness import Screen, Studio

SHUTTLE = "The shuttle carries the weft through the shed."


class School:
    """A Heddle with a teacher's assistants, and a learner."""

    def __init__(self, studio: Studio, provider: str) -> None:
        self.studio = studio
        providers = {"openai": {"api_key": "test", "base_url": provider, "models": ["m"]}}
        body = {"name": "University", "settings": {"providers": providers}}
        insisting = {"allow_failing_providers": True}
        studio.client.put("/organizations/uni", json=body, params=insisting).raise_for_status()
        self.teacher, self.learner = self._key("creator"), self._key("member")
        self.store = self._store()
        self.tutor = self.assistant("Weaving", capabilities={"vision": True})
        search = {"type": "simple_rag", "config": {"collections": [self.store]}}
        template = {"prompt_template": "{context}\n{user_input}"}
        self.reader = self.assistant("Looms", tools=[search], **template)

    def assistant(self, title: str, **members: object) -> str:
        body = {
            "name": title.lower().replace(" ", "_"),
            "title": title,
            "description": "Answers questions about looms.",
            "starter_questions": ["What is a heddle?", "Something rich"],
            "model": {"connector": "openai", "model": "m"},
            **members,
        }
        response = self.studio.client.post("/assistants", json=body, headers=self.teacher)
        identifier = str(response.raise_for_status().json()["id"])
        self.publish(identifier)
        return identifier

    def publish(self, identifier: str, *, published: bool = True) -> None:
        path = f"/assistants/{identifier}/publish"
        body = {"published": published}
        self.studio.client.put(path, json=body, headers=self.teacher).raise_for_status()

    def screen(self, *, teacher: bool = False, **options: Any) -> AbstractContextManager[Screen]:
        """Open a window of the learner, or of the teacher."""
        key = (self.teacher if teacher else self.learner)["authorization"].removeprefix("Bearer ")
        return self.studio.screen(key=key, **options)

    def person(self, name: str, role: str = "member") -> str:
        """Return a key of a new user."""
        client, email = self.studio.client, f"{name}@uni.example"
        client.put(f"/organizations/uni/users/{email}", json={"role": role}).raise_for_status()
        body = {"name": name, "user": email, "organization": "uni"}
        return str(client.post("/keys", json=body).raise_for_status().json()["key"])

    def _key(self, role: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.person(role, role)}"}

    def _store(self) -> str:
        client, headers = self.studio.client, self.teacher
        store = client.post("/v1/vector_stores", json={"name": "Looms"}, headers=headers).json()[
            "id"
        ]
        files = {"file": ("loom.pdf", pdf("Loom.", SHUTTLE), "application/pdf")}
        uploaded = client.post(
            "/v1/files", data={"purpose": "assistants"}, files=files, headers=headers
        )
        file = uploaded.json()["id"]
        path = f"/v1/vector_stores/{store}/files"
        client.post(path, json={"file_id": file}, headers=headers).raise_for_status()
        while client.get(f"{path}/{file}", headers=headers).json()["status"] == "in_progress":
            pass
        return str(store)
