"""`heddle` and `python -m heddle_cli`."""

from heddle_runtime.errors import HeddleError

from heddle_cli.app import app
from heddle_cli.failures import sentence
from heddle_cli.terminal import notes


def main(arguments: list[str] | None = None) -> None:
    """Run the command of `arguments`, or of the process; a failure is told in one sentence."""
    try:
        app(arguments, prog_name="heddle")
    except HeddleError as error:
        notes.print(f"heddle: {sentence(error)}", style="red")
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
