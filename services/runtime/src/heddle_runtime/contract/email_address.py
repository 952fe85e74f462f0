"""The spelling under which e-mail addresses of users are stored and compared."""

import unicodedata


def canonical_email(address: str) -> str:
    """Return an address in lower case, its Unicode characters in their compatible composed form.

    Invisible characters and space around the address are left out. Other names of callers,
    such as `key:0123`, have no `@` and are returned unchanged.
    """
    if "@" not in address:
        return address
    compatible = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", address).casefold())
    if compatible.isascii():
        return compatible.strip()
    return "".join(each for each in compatible if unicodedata.category(each) != "Cf").strip()
