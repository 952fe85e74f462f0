"""Takes the arguments of curl that README.md uses: tests must not need curl on the machine."""

import argparse
import sys
import urllib.error
import urllib.request


def main() -> None:
    """Send the request and print the body of the response, also if its status is an error."""
    parser = argparse.ArgumentParser("curl", allow_abbrev=False)
    parser.add_argument("-s", dest="silent", action="store_true", required=True)
    parser.add_argument("-N", dest="unbuffered", action="store_true")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="data")
    parser.add_argument("-X", dest="method")
    parser.add_argument("url")
    arguments = parser.parse_args()
    request = urllib.request.Request(  # noqa: S310 - the documents contain http:// only
        arguments.url, arguments.data and arguments.data.encode(), method=arguments.method
    )
    for header in arguments.headers:
        name, _, value = header.partition(":")
        request.add_header(name, value.strip())
    try:
        response = urllib.request.urlopen(request, timeout=60)  # noqa: S310 - as above
    except urllib.error.HTTPError as error:
        response = error
    with response:
        while chunk := response.read1():
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
