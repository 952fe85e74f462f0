"""The settings of the profile `openwebui` in the compose file, as Compose resolves them."""

import json
import os
import subprocess
from functools import cache
from typing import Any

from containers.files import REQUIRED, command

from docs.project.images import ROOT

OPERATOR_KEY = REQUIRED["HEDDLE_GATEWAY_API_KEY"]
TRUSTED_KEY = "lamb_a-key-for-open-webui"


def compose_environment(service: str) -> dict[str, str]:
    """Return the environment of a service."""
    environment = _services()[service]["environment"]
    return {name: value for name, value in environment.items() if value is not None}


def gateway_settings() -> dict[str, str]:
    """Return the settings of the gateway without its addresses."""
    environment = compose_environment("gateway")
    own = {key: value for key, value in environment.items() if key.startswith("HEDDLE_GATEWAY_")}
    del own["HEDDLE_GATEWAY_API_KEY_FILE"]  # a file in the container
    own["HEDDLE_GATEWAY_API_KEY"] = OPERATOR_KEY
    del own["HEDDLE_GATEWAY_LISTEN"]
    return {"HEDDLE_GATEWAY_DEVELOPMENT": "false", **own}


@cache
def _services() -> dict[str, dict[str, Any]]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")}
    run = subprocess.run(  # noqa: S603 - our own arguments
        [
            *(command("docker-compose"), "--file", str(ROOT / "docker-compose.yml")),
            *("--profile", "openwebui", "config", "--format", "json"),
        ],
        capture_output=True,
        check=True,
        env=outside | REQUIRED | {"HEDDLE_GATEWAY_TRUSTED_API_KEY": TRUSTED_KEY},
        text=True,
        timeout=60,
    )
    services: dict[str, dict[str, Any]] = json.loads(run.stdout)["services"]
    return services
