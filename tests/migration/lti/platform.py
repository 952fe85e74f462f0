"""A learning platform that launches links of LTI 1.1, and the LAMB that knows them."""

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from migration.lamb.lamb_database import DEFAULTS, TODAY, Lamb
from oauthlib.common import Request
from oauthlib.oauth1 import Client
from oauthlib.oauth1.rfc5849 import signature

KEY, SECRET = "lamb", "secret-of-all-activities"
AUTHORS_KEY, AUTHORS_SECRET = "physics-authors", "secret-of-authors"
LINK, PUBLISHED = "moodle 99", "physics_tutor"
OWNER, ANA = "bo@example.org", "ana@example.org"
_GLOBAL = """(id INTEGER PRIMARY KEY, oauth_consumer_key TEXT NOT NULL,
    oauth_consumer_secret TEXT NOT NULL, updated_at INTEGER NOT NULL)"""
_AUTHORS = """(id INTEGER PRIMARY KEY, organization_id INTEGER NOT NULL,
    oauth_consumer_key TEXT NOT NULL, oauth_consumer_secret TEXT NOT NULL,
    enabled BOOLEAN DEFAULT TRUE, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)"""
_ACTIVITIES = """(id INTEGER PRIMARY KEY, resource_link_id TEXT NOT NULL,
    organization_id INTEGER NOT NULL, context_title TEXT, activity_name TEXT,
    owner_email TEXT NOT NULL DEFAULT '', configured_by_email TEXT NOT NULL, status TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)"""
_OFFERED = """(id INTEGER PRIMARY KEY, activity_id INTEGER NOT NULL,
    assistant_id INTEGER NOT NULL, added_at INTEGER NOT NULL)"""
TABLES = {
    **TODAY,
    "lti_global_config": _GLOBAL,
    "lti_creator_keys": _AUTHORS,
    "lti_activities": _ACTIVITIES,
    "lti_activity_assistants": _OFFERED,
}


METADATA = {
    "prompt_processor": "simple_augment",
    "connector": "bypass",
    "llm": "simple-bypass",
    "rag_processor": "no_rag",
}
"""Of assistants that repeat the question."""


def lamb_with_links(path: Path) -> Lamb:
    """Make a LAMB with two organisations, two assistants, and a link and a key of each kind."""
    for name in TABLES.keys() - DEFAULTS.keys():
        DEFAULTS.setdefault(name, {})
    lamb = Lamb(path).make(TABLES)
    lamb.add(
        "organizations", {"id": 1, "slug": "lamb", "is_system": 1}, {"id": 7, "slug": "physics"}
    )
    lamb.add(
        "Creator_users",
        {"id": 1, "user_email": ANA},
        {"id": 3, "user_email": OWNER, "organization_id": 7},
    )
    of_physics = {"organization_id": 7, "owner": OWNER, "api_callback": json.dumps(METADATA)}
    lamb.add(
        "assistants",
        {"id": 42, "name": "3_tutor", **of_physics},
        {"id": 43, "name": "3_grader", **of_physics},
    )
    lamb.add(
        "assistant_publish",
        {"assistant_id": 42, "oauth_consumer_name": PUBLISHED},
        {"assistant_id": 43, "oauth_consumer_name": "null"},
    )
    lamb.add("lti_global_config", {"oauth_consumer_key": KEY, "oauth_consumer_secret": SECRET})
    key = {"oauth_consumer_key": AUTHORS_KEY, "oauth_consumer_secret": AUTHORS_SECRET}
    lamb.add("lti_creator_keys", {"organization_id": 7, **key})
    activity = {"organization_id": 7, "configured_by_email": OWNER, "owner_email": OWNER}
    lamb.add(
        "lti_activities",
        {
            "id": 5,
            "resource_link_id": LINK,
            "activity_name": "Waves",
            "status": "active",
            **activity,
        },
        {"id": 6, "resource_link_id": "gone", "status": "active", **activity},
    )
    offered = {"activity_id": 5, "added_at": 1}
    lamb.add("lti_activity_assistants", {**offered, "assistant_id": 43})
    lamb.add("lti_activity_assistants", {"activity_id": 6, "added_at": 1, "assistant_id": 99})
    return lamb


def signed(
    url: str, key: str, secret: str, form: Mapping[str, str], *, method: str = "HMAC-SHA1"
) -> str:
    """Return the body of a launch. A member of `form` replaces what OAuth demands."""
    members = {
        "lti_version": "LTI-1p0",
        "lti_message_type": "basic-lti-launch-request",
        "oauth_version": "1.0",
        "oauth_signature_method": method,
        "oauth_consumer_key": key,
        "oauth_timestamp": str(int(time.time())),
        "oauth_nonce": uuid.uuid4().hex,
        **form,
    }
    request: Any = Request(url, "POST")  # its members are set at run time
    request.params = [*signature.collect_parameters(request.uri_query), *members.items()]
    text = signature.signature_base_string(
        "POST", signature.base_string_uri(url), signature.normalize_parameters(request.params)
    )
    sign = (
        signature.sign_hmac_sha256_with_client
        if method == "HMAC-SHA256"
        else signature.sign_hmac_sha1_with_client
    )
    return urlencode({**members, "oauth_signature": sign(text, Client(key, client_secret=secret))})
