"""The store of generated images in an object store, which all replicas of the service use."""

from dataclasses import dataclass, field
from pathlib import Path

from heddle_runtime.storage.object_store import ObjectStore, StoredObject

from heddle_connector.generation.generated_images import GeneratedImages


@dataclass(frozen=True)
class SharedImages(GeneratedImages):
    """Stores images as objects, whose keys are the paths that the files would have."""

    objects: ObjectStore = field(kw_only=True)

    def _read(self, folder: Path, name: str) -> bytes:
        data = self.objects.get(_key(folder, name))
        if data is None:
            raise FileNotFoundError(name)
        return data

    def _write(self, folder: Path, name: str, data: bytes) -> None:
        self._make_room(folder, self.quota_bytes - len(data))
        self.objects.put(_key(folder, name), data)

    def _names(self, folder: Path) -> list[str]:
        return sorted(each.key.rpartition("/")[2] for each in self._stored(folder))

    def _remove(self, folder: Path) -> None:
        for each in self._stored(folder):
            self.objects.delete(each.key)

    def _expire(self, folder: Path, oldest: float) -> int:
        old = [it for it in self._stored(folder) if it.modified.timestamp() < oldest]
        for each in old:
            self.objects.delete(each.key)
        return len(old)

    def _stored(self, folder: Path) -> list[StoredObject]:
        return self.objects.all(f"{folder.as_posix()}/")

    def _make_room(self, folder: Path, max_bytes: int) -> None:
        """Delete the oldest images until the others fit."""
        images = self._stored(folder)
        total = sum(image.size for image in images)
        for image in sorted(images, key=lambda it: (it.modified, it.key)):
            if total <= max_bytes:
                return
            self.objects.delete(image.key)
            total -= image.size


def _key(folder: Path, name: str) -> str:
    return (folder / name).as_posix()
