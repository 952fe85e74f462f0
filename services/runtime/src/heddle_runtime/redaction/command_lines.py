"""Passwords on command lines, in .pgpass and in files of key pairs."""

import re

from heddle_runtime.redaction.judgement import MAX_READ, is_assigned_secret
from heddle_runtime.redaction.names import STRONG, SUFFIX
from heddle_runtime.redaction.scan import Groups, Span, rule

_RUN = re.compile(r"""[^\s"'|;]++""")


def _password(text: str, groups: Groups) -> Span | None:
    end = groups[0][1]
    run = _RUN.match(text, end)
    if run is None or text[end] == "-":
        return None
    value = text[end : min(run.end(), end + MAX_READ + 1)]
    is_secret = not value.isdigit() and is_assigned_secret(value, weak=False, quoted=True)
    return run.span() if is_secret else None


def _group(_: str, groups: Groups) -> Span:
    return groups[1]


RULES = (
    rule(
        rf"""(?:^|[\s"'\[,])--?(?:[\w.]+[-_])*(?:{STRONG}|token|(?:key|store)?pass|pw){SUFFIX}[\x20\t]+["']?""",
        _password,
    ),
    # netrc
    rule(r"\b(?:machine|login|account|default)\s+\S+\s+password\s+[\"']?", _password),
    rule(r"""(?:^|\s)(?:-u|--user|--proxy-user)[\s=]["']?[A-Z0-9_.@+-]{1,64}:""", _password),
    rule(
        r"""\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|smbclient)\b[^\n|;&]*?\s-p["']?"""
        r"""|\bsshpass\s+-p[\s=]?["']?|\b(?:docker|podman|helm|az|oras|buildah|skopeo)\s(?:registry\s)?login\b[^\n|;&]*?\s-p[\s=]["']?"""
        r"""|\bredis-cli\b[^\n|;&]*?\s-a[\s=]["']?|\bldap[a-z]+\b[^\n|;&]*?\s-w[\s=]["']?|\bsqlcmd\b[^\n|;&]*?\s-P[\s=]?["']?""",
        _password,
        exact=True,
    ),
    rule(
        r"""\bsmbclient\b[^\n|;]*?\s-U\s?["']?[^\s%]{1,64}%|\b(?:unzip|zip|7za?)\s+-[pP]\s?""",
        _password,
        exact=True,
    ),
    # Tools that take the name and then the password.
    rule(
        r"""\b(?:rabbitmqctl\s(?:add_user|change_password|authenticate_user)|htpasswd\s+-[A-Za-z]*b[A-Za-z]*\s+[^\s]+"""
        r"""|(?:poetry|composer)\sconfig\s(?:--\w+\s)*http-basic\.[\w.-]+)\s+["']?[^\s"']+["']?\s+["']?""",
        _password,
        exact=True,
    ),
    # .pgpass: host:port:database:user:password
    rule(r"(?:^|\s)[\w.*-]+:(?:[0-9]{4,5}|\*):[\w*.-]+:[\w*.-]+:", _password),
    # A private key in JSON Web Key form.
    rule(r"""\\*["']d\\*["']\s?:\s?\\*["']([\w-]{32,})""", _group),
)
