"""Texts that take long if a matcher reads a character again for each candidate before it."""

from collections.abc import Iterator
from random import Random

UNITS = (
    *("a", " ", "A", "0", "-", "\n", "=", '"', "\\", "[", "\x1b[", "\x1b", "é", "\\u001b["),
    *(
        "sk-",
        "sk-a",
        "eyJ",
        "eyJa.",
        "ghp_",
        "AKIA",
        "xoxb-",
        "SG.",
        "M",
        "MMMMMMMMMMMMMMMMMMMMMMMMM.",
        "hf_",
        "0123456789:",
    ),
    *("a.", "a@", "a@b.", "://", "x://a:", "x://a:b@", "://a@", "http://a:b@c/ "),
    *(
        "Bearer ",
        "Bearer a1b2c3d4 ",
        "Basic ",
        "Basic YTpi ",
        "Authorization: ",
        "authorization: Bearer a1b2c3 ",
        "Cookie: ",
        "cookie: a=b;",
    ),
    *(
        "password=",
        "password= ",
        "password: ",
        "password a1",
        "password='",
        'password="',
        "password=\\",
        "password is ",
        "token",
        "token ",
        "token: a1b2c3d4e5 ",
    ),
    *(
        '"password": "abc", ',
        "password=abc ",
        "api key ",
        "key=",
        "&key=",
        "&sig=a1b2c3d4e5f6 ",
        "secret,",
        "secret value",
        "token={{",
        "pass",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN A A A ",
        "-----END PRIVATE KEY-----",
        "Private-Lines: 1",
    ),
    *(
        "mysql ",
        "mysql -p",
        "curl -u a:",
        " -u a:",
        "docker login ",
        "ldapsearch x ",
        "a:5432:b:c:",
        "a:5432:b:",
        "\tTRUE\t",
        "\tTRUE\t/\tTRUE\t1\ta\t",
    ),
    *(
        "$2b$12$",
        "machine a login ",
        "machine a login b password c1d2e3 ",
        "x-api-key: ",
        "x-api-key",
        "jdbc:oracle:thin:a/",
        '"d":"',
    ),
    *(
        "ann:a1b2c3d4@b.c:99 ",
        "htpasswd -b x ",
        "poetry config http-basic.",
        "password: |\n",
        "à",
    ),
    *(
        "%41",
        "%3Aa",
        "%3A%2F%2Fa%3Ab%40c ",
        "&quot;",
        "\\u003d",
        "eyJ",
        "eyJhcGlfa2V5IjogIkFi ",
        "password%3Dabc1 ",
        "a-b-",
        "a.b.",
    ),
)


def hostile_texts(characters: int) -> Iterator[tuple[str, str]]:
    """Yield texts of about that many characters, each with its name."""
    for unit in UNITS:
        yield repr(unit), (unit * (characters // len(unit) + 1))[:characters]
    generator = Random(1)  # noqa: S311 - for reproducible texts
    yield "all units", "".join(generator.choices(UNITS, k=characters // 10))[:characters]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:=/@\"' \n"
    yield "random", "".join(generator.choices(letters, k=characters))
