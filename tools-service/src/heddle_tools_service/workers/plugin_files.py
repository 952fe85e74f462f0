"""Checks that only the operator can have written the files of plugins."""

import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path


def folder_problem(folder: Path, hashes: Mapping[str, str]) -> str:
    """Return why no plugin of a mounted folder may be loaded; empty if they may.

    Plugins import the other files of their folder, so these are checked as well.

    Args:
        folder: The mounted folder.
        hashes: The SHA-256 that each file must have, by its path in the folder; empty: any.
    """
    helpers = (
        each
        for each in sorted(folder.rglob("*.py"))
        if each.parent != folder or each.name[0] == "_"
    )
    problems = (
        _writable_by_others(folder, str(folder)),
        *(file_problem(folder, each, hashes) for each in helpers),
    )
    return next(filter(None, problems), "")


def file_problem(folder: Path, file: Path, hashes: Mapping[str, str]) -> str:
    """Return why a file of a mounted folder may not be loaded; empty if it may.

    Args:
        folder: The mounted folder.
        file: In it.
        hashes: As for `folder_problem`.
    """
    name = str(file.relative_to(folder))
    if problem := _writable_by_others(file, name):
        return problem
    if not hashes:
        return ""
    if name not in hashes:
        return (
            f"HEDDLE_TOOLS_PLUGIN_HASHES has no hash for {name}. Add its SHA-256 after reading it."
        )
    digest = sha256(file.read_bytes()).hexdigest()
    if digest != hashes[name].lower():
        return (
            f"{name} has the SHA-256 {digest}, which is not the one in "
            "HEDDLE_TOOLS_PLUGIN_HASHES. Restore the file, or read it and change the setting."
        )
    return ""


def _writable_by_others(path: Path, name: str) -> str:
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()):
        return (
            f"{name} belongs to the user {status.st_uid}, who is neither root nor the user of the "
            f"service ({os.geteuid()}). Change its owner with chown."
        )
    groups = {os.getegid(), *os.getgroups()}
    if status.st_mode & stat.S_IWOTH or (
        status.st_mode & stat.S_IWGRP and status.st_gid not in groups
    ):
        return f"Other users can write {name}. Take that right away: chmod go-w."
    return ""
