"""Which launches of LTI 1.1 are accepted. The signatures here are those of `oauthlib`'s clients."""

from urllib.parse import quote

import pytest
from heddle_gateway.auth.oidc.configuration import SignInFailedError
from heddle_migration_service.lti.launches import Person, safe
from heddle_migration_service.lti.signatures import MAX_AGE_SECONDS, check_launch
from migration.lti.platform import signed

NOW = 1_750_000_000.0
URL = "https://heddle.example/lamb/v1/lti/launch"
FORM = {
    "resource_link_id": "moodle 99",
    "lis_person_name_full": "Ann Müller & Söhne",
    "roles": "",
    "oauth_timestamp": f"{NOW:.0f}",
}
SECRET = "secret"


def check(body: str, *urls: str, secret: str = SECRET) -> None:
    check_launch(body, urls or (URL,), secret, NOW)


@pytest.mark.parametrize("method", ["HMAC-SHA1", "HMAC-SHA256"])
@pytest.mark.parametrize("url", [URL, f"{URL}?course=1&x=a%20b"])
def test_a_signed_launch_is_accepted(url: str, method: str) -> None:
    check(signed(url, "lamb", SECRET, FORM, method=method), "http://other.example/", url)


def test_the_port_that_a_scheme_has_anyway_makes_no_difference() -> None:
    check(signed(URL, "lamb", SECRET, FORM), URL.replace(".example", ".example:443"))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"oauth_timestamp": str(int(NOW) - MAX_AGE_SECONDS - 5)}, "seconds old"),
        ({"oauth_timestamp": str(int(NOW) + MAX_AGE_SECONDS + 5)}, "seconds old"),
        ({"oauth_timestamp": "soon"}, "seconds old"),
        ({"oauth_timestamp": "9" * 5000}, "seconds old"),
        ({"oauth_nonce": ""}, "no nonce"),
        ({"oauth_nonce": "n" * 201}, "no nonce"),
        ({"oauth_signature_method": "PLAINTEXT"}, "HMAC"),
        ({"oauth_version": "2.0"}, "HMAC"),
    ],
)
def test_a_launch_with_wrong_members_is_refused(changed: dict[str, str], why: str) -> None:
    with pytest.raises(SignInFailedError, match=why):
        check(signed(URL, "lamb", SECRET, FORM | changed))


@pytest.mark.parametrize(
    "body",
    [
        signed(URL, "lamb", "another", FORM),
        signed(f"{URL}/", "lamb", SECRET, FORM),
        signed(URL, "lamb", SECRET, FORM).replace("moodle", "canvas"),
        signed(URL, "lamb", SECRET, FORM) + "&roles=Instructor",
        signed(URL, "lamb", SECRET, FORM).replace("oauth_signature=", "oauth_signature=A"),
        signed(URL, "lamb", SECRET, FORM).partition("&oauth_signature=")[0],
    ],
)
def test_a_launch_that_was_changed_is_refused(body: str) -> None:
    with pytest.raises(SignInFailedError, match="signature"):
        check(body)


@pytest.mark.parametrize("body", ["", "x", "\xff=\xff", "a=%zz", quote("a=b"), "oauth_signature="])
def test_what_is_no_launch_is_refused(body: str) -> None:
    with pytest.raises(SignInFailedError):
        check(body)


def test_without_a_secret_nothing_is_accepted() -> None:
    with pytest.raises(SignInFailedError, match="signature"):
        check(signed(URL, "lamb", "", FORM), secret="")


@pytest.mark.parametrize(
    ("roles", "teaches"),
    [
        ("Instructor", True),
        ("urn:lti:role:ims/lis/TeachingAssistant", True),
        ("Learner,urn:lti:instrole:ims/lis/Administrator", True),
        ("http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor", True),
        ("http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#Grader", True),
        ("Learner", False),
        ("urn:lti:role:ims/lis/Learner/NonCreditLearner", False),
        ("http://purl.imsglobal.org/vocab/lis/v2/membership#Mentor", False),
        ("", False),
    ],
)
def test_the_roles_of_a_launch_say_who_teaches(roles: str, teaches: bool) -> None:
    assert Person("a@b.example", "A", roles).teaches is teaches


def test_names_that_differ_have_addresses_that_differ() -> None:
    assert safe("ann.w-1_x") == "ann.w-1_x"
    names = ["ann w", "ann_w", "Ann_w", "ann@w", "", " ", "x" * 80, "x" * 81, "ñ", "é"]
    assert len({safe(each) for each in names}) == len(names)
    assert all(len(safe(each)) <= 80 and safe(each).isascii() for each in names)
