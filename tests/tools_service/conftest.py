"""What the tests of the tool service share."""

import structlog

# The default draws every local variable of every frame, which takes a second for each failure.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)
