"""E-mail: its headers, its text and its attachments."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import Block, ParsedDocument
from heddle_knowledge.formats.dates import read_date

MAX_ATTACHMENTS = 50
_HEADERS = ("From", "To", "Cc", "Date", "Subject")
Read = Callable[[bytes, str, str], ParsedDocument]
"""Reads a part: its bytes, media type and name."""


def read_mail(data: bytes, read: Read) -> ParsedDocument:
    """Read a message. Each attachment is a section under its name.

    Args:
        data: The message with its headers.
        read: Reads its parts; what it refuses is named in the text.

    Returns:
        Its text; the title is its subject.
    """
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
    lines = [f"{name}: {message[name]}" for name in _HEADERS if message[name]]
    blocks = [Block("\n".join(lines))] if lines else []
    body = message.get_body(("html", "plain"))
    if body is not None:
        blocks += _part(body, "body.html" if body.get_content_subtype() == "html" else "", read)
    for number, part in enumerate(message.iter_attachments()):
        if number == MAX_ATTACHMENTS:
            blocks.append(Block(f"Attachments after the first {MAX_ATTACHMENTS} were not read."))
            break
        name = part.get_filename() or f"attachment {number + 1}"
        blocks += (
            replace(block, heading=(name, *block.heading), page=None)
            for block in _part(part, name, read)
        )
    time = read_date(str(message["Date"] or ""))
    return ParsedDocument(" ".join(str(message["Subject"] or "").split()), tuple(blocks), time)


def _part(part: MIMEPart, name: str, read: Read) -> Iterator[Block]:
    if part.get_content_type() == "message/rfc822":
        content = part.get_content()
        data = content.as_bytes() if isinstance(content, EmailMessage) else b""
    else:
        decoded = part.get_payload(decode=True)
        data = decoded if isinstance(decoded, bytes) else b""
    charset = part.get_content_charset()
    media_type = part.get_content_type() + (f";charset={charset}" if charset else "")
    try:
        yield from read(data, media_type, name).blocks
    except UnreadableDocumentError as refusal:
        if name and not name.startswith("body."):
            yield Block(f"This attachment was not read: {refusal}")
