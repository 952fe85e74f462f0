"""`heddle` and `python -m heddle_cli`."""

import re

from heddle_runtime.errors import HeddleError

from heddle_cli.app import app
from heddle_cli.failures import sentence, where_to_read
from heddle_cli.terminal import notes

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Python's form of a byte of the command line that is not UTF-8."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command of `arguments`, or of the process; report a failure in one sentence."""
    try:
        app(arguments, prog_name="heddle")
    except HeddleError as error:
        notes.print(f"heddle: {sentence(error)}", style="red")
        notes.print(where_to_read(error))
        raise SystemExit(1) from None
    except UnicodeEncodeError as error:
        if not _SURROGATE.search(error.object):
            raise
        # Without the text, which may be the secret.
        notes.print("heddle: An argument or a setting is not UTF-8. Write it so.", style="red")
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
