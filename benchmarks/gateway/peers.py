"""Other systems beside Heddle: their commands and settings.

`make bench-peers` installs them into an environment of their own, as their documents say.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gateway.processes import REPOSITORY, Command

LITELLM = "LiteLLM"
NAMES = (LITELLM,)
MODEL = "fake"
_PYTHON = REPOSITORY / ".heddle" / "peers" / "bin" / "python"


def commands(name: str, port: int, upstream: int, folder: Path) -> Sequence[Command]:
    """Return the commands that start a system on `port` in front of `upstream`."""
    if not _PYTHON.exists():
        raise FileNotFoundError(f"{name} is not installed: make bench-peers")
    folder.mkdir(parents=True)
    configuration = folder / "litellm.json"  # JSON is YAML
    provider = {
        "model": f"openai/{MODEL}",
        "api_base": f"http://127.0.0.1:{upstream}/v1",
        "api_key": "benchmark",
    }
    models = [{"model_name": MODEL, "litellm_params": provider}]
    # Without a key, as Heddle is measured: it only listens on this machine.
    general = {"dangerously_permit_weak_or_unset_master_key": True}
    configuration.write_text(json.dumps({"model_list": models, "general_settings": general}))
    arguments = ("--config", str(configuration), "--host", "127.0.0.1", "--port", str(port))
    # Without it, a list of prices is fetched at the start.
    settings = {"LITELLM_LOCAL_MODEL_COST_MAP": "true"}
    return [Command("litellm.proxy.proxy_cli", arguments, settings, str(_PYTHON))]
