"""Keys that are recognised by themselves, in the formats that their providers document."""

import re

from heddle_runtime.redaction.identifiers import is_identifier
from heddle_runtime.redaction.judgement import MAX_READ, is_placeholder, is_random
from heddle_runtime.redaction.scan import Groups, Span, rule

_SURE = r"""
    # Models and their tools
    sk-ant-[\w-]{20,} | sk-(?:proj|svcacct|admin|None|or-v1|lf|live|test)-[\w-]{16,}
  | AIza[\w-]{24,}
    # Clouds
  | (?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16,} | ABSK[A-Za-z0-9+/]{24,}=*
  | GOCSPX-[\w-]{20,} | ya29\.[\w-]{20,} | 1//0[\w-]{24,} | (?:dop|doo|dor)_v1_[a-f0-9]{24,}
  | HRKU-[\w-]{24,} | fm[12]_[A-Za-z0-9+/=_-]{24,} | fo1_[\w-]{24,}
  | dapi[a-f0-9]{24,}(?:-[0-9]+)? | dkea[a-f0-9]{24,} | dose[a-f0-9]{24,} | nfp_[A-Za-z0-9]{24,}
  | rnd_[A-Za-z0-9]{24,} | v1\.0-[a-f0-9]{20,}-[a-f0-9]{24,} | cf[aou]t_[\w-]{24,}
  | (?:vcp|vci|vca|vcr|vck)_[A-Za-z0-9]{24,} | ocid1\.key\.[\w.]{24,} | tskey-[a-z]+-[\w-]{16,}
  | [0-9]Q~[\w.~-]{24,} | \.atlasv1\.[\w=-]{24,} | hv[sbr]\.[\w-]{20,} | pul-[a-f0-9]{24,}
  | dp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{24,} | ops_eyJ[\w-]{24,}
  | A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?:-[A-Z0-9]{5})?
  | AGE-SECRET-KEY-1[A-Z0-9]{24,} | sha256~[\w-]{24,} | pscale_(?:tkn|oauth|pw)_[\w.=-]{24,}
  | npg_[A-Za-z0-9]{10,} | napi_[A-Za-z0-9]{24,} | sbp_[a-f0-9]{24,}
  | sb_(?:secret|publishable)_[\w-]{20,}
    # Code, packages and builds
  | gh[pousr]_[A-Za-z0-9]{24,} | github_pat_[\w]{24,}
  | gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|rtr|wt)-[\w.-]{18,} | GR1348941[\w-]{18,}
  | ATBB[A-Za-z0-9=_-]{24,} | AT(?:ATT3|CTT3|OATT3)[\w=-]{24,} | npm_[A-Za-z0-9]{24,}
  | pypi-AgE[\w-]{24,} | rubygems_[a-f0-9]{24,} | CLOJARS_[a-z0-9]{24,} | dckr_[op]at_[\w-]{20,}
  | sq[upa]_[a-f0-9]{24,} | CCIP(?:AT|RJ)_[\w]{24,} | bk[a-z]{2}_[A-Za-z0-9]{24,}
  | sntry[su]_[A-Za-z0-9+/=_-]{24,} | NR(?:AK|JS|II|AL|RA|SP)-[\w-]{19,}
  | PMAK-[a-f0-9]{24}-[a-f0-9]{24,} | CFPAT-[\w-]{24,} | gl(?:sa|c)_[A-Za-z0-9+/=_-]{24,}
  | dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{24,} | hc[a-z]{3}_[a-z0-9]{24,}
  | pnu_[A-Za-z0-9]{24,} | rdme_[a-z0-9]{24,} | ico-[A-Za-z0-9]{24,}
  | lin_(?:api|oauth)_[A-Za-z0-9]{24,} | fig[dourh]{1,2}_[\w-]{24,}
    # Messages and mail
  | xox[a-z]-[\w-]{10,} | xoxe(?:\.xox[bp])?-[0-9]-[\w-]{24,} | xapp-[0-9]-[\w-]{20,}
  | hooks\.slack\.com/[a-z]+/[\w/-]{20,}
  | discord(?:app)?\.com/api/webhooks/[0-9]+/[\w-]{24,}
  | (?:webhook|outlook)\.office(?:365)?\.com/webhook(?:b2)?/[\w@/-]{24,}
  | SG\.[\w-]{16,}\.[\w-]{24,}
  | xkeysib-[a-f0-9]{24,}-[A-Za-z0-9]{12,} | xsmtpsib-[a-f0-9]{24,}-[A-Za-z0-9]{12,}
  | mfa\.[\w-]{24,}
    # Payments, data and others
  | (?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,} | whsec_[A-Za-z0-9+/=]{20,}
  | sq0[a-z]{3}-[\w-]{20,} | shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{24,}
  | rzp_(?:live|test)_[A-Za-z0-9]{14,} | FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}
  | access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{24,}
  | shippo_(?:live|test)_[a-f0-9]{24,} | (?:duffel|ff)_(?:live|test)_[\w=-]{24,}
  | pat[A-Za-z0-9]{14}\.[a-f0-9]{24,} | secret_[A-Za-z0-9]{24,} | ntn_[A-Za-z0-9]{24,}
  | pat-(?:na|eu|ap)[0-9]-[a-f0-9-]{24,} | tfp_[\w.=-]{24,} | shpua_[a-f0-9]{24,}
  | [ps]k\.eyJ[\w-]{20,}\.[\w-]{16,}
  | (?:sdk|mob|api)-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
  | _live_[a-z]{2}_[A-Za-z0-9]{24,} | fio-u-[\w=-]{24,} | (?:pub)?key-[0-9a-f]{24,}
    # Tokens and hashes of passwords
  | \{S?(?:SHA|MD5|CRYPT)[0-9]*\}[\w+/=$.-]{16,} | AC[0-9a-f]{32}:[0-9a-f]{24,}
  | eyJ[\w-]{10,}\.(?:[\w-]{4,}|\.)[\w.-]*
  | \$(?:2[abxy]?|apr1|1|5|6|y|7|argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha[0-9]+)?)\$[\w./$=,+*-]{16,}
"""
_AT_A_BOUNDARY = r"""
    SK[0-9a-f]{32} | [0-9a-f]{32}-(?:us[0-9]{1,2}|[0-9a-f]{8}-[0-9a-f]{8})
  | [MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}
  | A{20,22}[A-Za-z0-9]{8,}(?:%[0-9A-F]{2}[A-Za-z0-9]*)+ | s\.[A-Za-z0-9]{24}
  | key[A-Za-z0-9]{14} | LTAI[A-Za-z0-9]{16,} | AKID[A-Za-z0-9]{28,} | SCW[A-Z0-9]{17}
  | cio[A-Za-z0-9]{32} | oy2[a-z0-9]{43} | cmVmd[A-Za-z0-9]{59,} | AKCp[A-Za-z0-9]{60,}
  | EAA[\w-]{50,} | EZ[AT]K[A-Za-z0-9]{50,} | AQE[A-Za-z0-9+/=]{80,}
  | [0-9]{6,12}:[A-Za-z0-9_-]{35} | t1\.[A-Z0-9a-z_-]+\.[A-Za-z0-9_-]{60,} | PMU?-[a-f0-9-]{36}
  | sk-[\w-]{10,} | sk_[\w-]{20,} | pa-[\w-]{38,} | AQ\.[\w-]{32,} | [0-9a-f]{32}\.[A-Za-z0-9]{16}
  | bedrock-api-key-[\w+/=-]{20,} | mdb_sa_sk_[\w-]{24,} | rpa_[A-Z0-9a-z]{32,}
  | re_[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}
  | BSA[\w-]{24,} | LA-[\w-]{40,} | sl\.[\w.-]{60,}
  | (?:gsk|hf|api_org|jina|tgp_v1|lsv2_(?:pt|sk)|ls_|pcsk|e2b|fw|r8|wandb_v1|flp|esecret|lamb|hk
    |dtn|ph[cxs]|sgp|zpka)_[\w-]{20,}
  | (?:xai|nvapi|pplx|tvly|csk|voyage|llx|bce-v3|ctx7sk)-[\w-]{20,} | (?:fc|exa)-[0-9a-f-]{24,}
"""
_ONE_WORD = r"""
    (?:sk[-_]|gsk_|hf_|r8_|pplx-|tvly-|xai-|hk_|lamb_|csk-|nvapi-|fw_|pcsk_|e2b_)[A-Za-z0-9]{16,}
"""
_ESCAPES = r"(?:\b|\\[nrt]|/bot)"
"""A key may follow an escaped line end or character, whose letter hides the boundary."""
_MASKS = frozenset("xX*.-_0")
_LAST = 12
_COMMENT = re.compile(r"#.*")


def _sure(text: str, groups: Groups) -> Span | None:
    start, end = groups[0]
    # Documentation writes ghp_xxxxxxxx.
    is_mask = set(text[max(start, end - _LAST) : end]) <= _MASKS
    return None if is_mask or is_placeholder(text[start:end]) else (start, end)


def _random(text: str, groups: Groups) -> Span | None:
    start, end = groups[0]
    value = text[start : min(end, start + MAX_READ)]
    is_key = is_random(value) and not is_placeholder(value) and not is_identifier(value, loose=True)
    return (start, end) if is_key else None


def _joined(table: str) -> str:
    return _COMMENT.sub("", table)


RULES = (
    rule(_joined(_SURE), _sure, exact=True),
    rule(f"{_ESCAPES}(?:{_ONE_WORD})", _sure, exact=True),
    rule(f"{_ESCAPES}(?:{_AT_A_BOUNDARY})", _random, exact=True),
)
