"""Which values must not be stored or shown: keys, found by their place or their form.

Masking too much destroys the text; masking too little exposes a key. Values that come from
environment variables are masked; values that the user wrote are judged by their name and form.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from toolmark.core.errors import UsageError

_SECRET_NAME = re.compile(
    "key|token(?!s|iz)|secret|pass(?!age|ive)|pwd|credential|cookie|dsn|bearer|jwt|auth(?!or(?!i))"
    "|(?:^|[^a-z])pat(?:$|[^a-z])|pw(?:$|[^a-z])",
    re.IGNORECASE,
)
# headers whose values are not secret
PUBLIC_HEADERS = ("accept", "accept-encoding", "accept-language", "content-type", "user-agent")
_WORDS_AND_NUMBERS = re.compile(
    r"\W*(?:[^\W\d_]{1,20}|\d{1,12})(?:[\W_]+(?:[^\W\d_]{1,20}|\d{1,12}))*\W*"
)
_MIN_MIXED_CHARS = 10  # in words and numbers joined by hyphens that may be a key
_MIN_PATH_STEP_CHARS = 16  # in a step of a path that may be a key
_FLAG_VALUE = re.compile(r"true|false|yes|no|on|off|none|null|\d{1,5}", re.IGNORECASE)
_NAME_AND_VALUE = re.compile(r"""(?<![\w.-])([\w.-]++)["']?\s*+[=:]\s*+["']?([^\s"'&;,]+)""")
_AUTH_SCHEMES = ("basic", "bearer", "digest", "token")  # the first word of a header: not a key
_SINGLE_NAME_AND_VALUE = re.compile(r"-{0,2}([\w.-]+)\s*[=:]\s*(.+)", re.DOTALL)
_MIN_KEY_CHARS = 7  # of a key; see models.secret_mask
# prefixes by which services mark their keys
_KEY_PREFIX = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|pk-|rk-|sk_|gsk_|hf_|gh[pousr]_|xox[abp]-|AKIA|AIza|eyJ|nvapi-|fw_|xai-"
    r"|tgp_|r8_|glpat-|github_pat_)[A-Za-z0-9_-]{9}"
)
_ALPHANUMERIC_RUN = re.compile("[A-Za-z0-9]+")
_BASE64_RUN = re.compile("[A-Za-z0-9+/=]{16,}")
_KEY_CHARS_RUN = re.compile("[A-Za-z0-9_+/=~.-]+")
_LONG_KEY_CHARS_RUN = re.compile("[A-Za-z0-9_+/=~.-]{12,}")  # no key by its form is shorter
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGEST = re.compile("[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")
_MIN_RANDOM_CHARS = 16  # a piece of mixed letters and digits from this length is random
_MIN_RANDOM_LETTERS = 20
_MAX_KIND_CHANGES = 3  # changes between lower case, upper case and digits; a name has no more
# request fields whose names look like keys, or that contain a hash on purpose
_PUBLIC_FIELDS = ("prompt_cache_key", "safety_identifier", "user")
_PLACEHOLDER = re.compile(r"\[key-[0-9a-f]{8}\]")


def is_secret_name(name: str) -> bool:
    """Return whether a name is that of a secret, such as a key, a token or a password."""
    return _SECRET_NAME.search(name) is not None


def secrets_in_variable(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in an environment variable: all of it, unless it is a path or a flag."""
    if is_secret_name(name) or not (_is_path(value) or _FLAG_VALUE.fullmatch(value)):
        yield value
        yield from secrets_in_text(value)


def secrets_in_entry(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in a named value: all of it, if its name or its form says so."""
    if is_secret_name(name) or not _is_plain_text(value):
        yield value
    yield from secrets_in_text(value)


def secrets_in_header(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in a header: the whole value, and each word after the first."""
    if name.lower() in PUBLIC_HEADERS:
        return
    yield value
    yield from (word.strip("\"',;") for word in value.split()[1:])
    yield from secrets_in_text(value)


def secrets_in_arguments(args: Sequence[str]) -> Iterator[str]:
    """Yield the secrets in a command line: after a flag or a name that says so."""
    for previous, text in zip(("", *args), args, strict=False):
        follows_flag = (
            previous.startswith("-") and not previous.startswith("--no-") and "=" not in previous
        )
        if follows_flag and is_secret_name(previous) and not text.startswith("--"):
            yield text
        if _is_code_spec(text):
            continue
        if (pair := _SINGLE_NAME_AND_VALUE.fullmatch(text)) and is_secret_name(pair[1]):
            yield from secrets_in_header(pair[1], pair[2])
        yield from secrets_in_text(text)


def _is_code_spec(text: str) -> bool:
    """Return whether a text is `module:NAME` or `FILE.py:NAME` of a file in the current folder."""
    module, _, name = text.rpartition(":")
    file = module if module.endswith(".py") else f"{module.replace('.', '/')}.py"
    return name.isidentifier() and os.path.isfile(file)


def secrets_in_text(text: str) -> Iterator[str]:
    """Yield the secrets inside a text: those of an address, and those of `name=value` in it."""
    if "://" in text:
        yield from _secrets_in_address(text)
    for name, value in _NAME_AND_VALUE.findall(text):
        if is_secret_name(name) and value.lower() not in _AUTH_SCHEMES:
            yield value


def _secrets_in_address(text: str) -> Iterator[str]:
    try:
        parts = urlsplit(text)
        user, password = parts.username, parts.password
    except ValueError:
        yield text
        return
    long_steps = [secret for secret in parts.path.split("/") if len(secret) >= _MIN_PATH_STEP_CHARS]
    candidates = [
        *(long_steps if parts.scheme in ("http", "https") else ()),
        "" if password else user or "",
    ]
    for secret in (
        password or "",
        *(secret for secret in candidates if not _is_plain_text(secret)),
    ):
        yield from (secret, unquote(secret))
    for name, value in parse_qsl(parts.query):
        if is_secret_name(name) or not _is_plain_text(value):
            yield value


def _is_plain_text(value: str) -> bool:
    """Return whether a text is a path, an address, or words and numbers; these are not keys."""
    if "://" in value or _is_path(value):
        return True
    if _WORDS_AND_NUMBERS.fullmatch(value) is None:
        return not any(letter.isalnum() for letter in value)
    return (
        " " in value
        or len(value) < _MIN_MIXED_CHARS
        or value.isdecimal()
        or not _mixes_letters_and_digits(value)
    )


def _mixes_letters_and_digits(value: str) -> bool:
    return any(map(str.isdecimal, value)) and any(map(str.isalpha, value))


def _is_path(value: str) -> bool:
    """Return whether a text is a path; an absolute path must begin with a folder that exists."""
    if value.startswith(("./", "../", "~/", "${workspace}")):
        return True
    root, _, rest = value.partition("/")
    return bool(rest and not root) and os.path.exists(f"/{rest.partition('/')[0]}")


# --- what is written out -----------------------------------------------------------------


def looks_like_key(text: str) -> bool:
    """Return whether some part of a text looks like a key: by its prefix or as random text."""
    if _KEY_PREFIX.search(text) is not None or any(
        map(_is_random, _ALPHANUMERIC_RUN.findall(text))
    ):
        return True
    return "+" in text and any(map(_is_random, map(_base64_letters, _BASE64_RUN.findall(text))))


def _base64_letters(run: str) -> str:
    """Return base64 text without its symbols; "" for text without `+`."""
    return "".join(_ALPHANUMERIC_RUN.findall(run)) if "+" in run else ""


def _is_random(piece: str) -> bool:
    """Return whether letters and digits are mixed as in no word, number or version."""
    if len(piece) < _MIN_RANDOM_CHARS or piece.isdecimal():
        return False
    if _DIGEST.fullmatch(piece.lower()):
        return True
    kinds = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" for sign in piece]
    n_changes = sum(one != other for one, other in pairwise(kinds))
    if "d" in kinds:
        return n_changes > _MAX_KIND_CHANGES
    return len(piece) >= _MIN_RANDOM_LETTERS and n_changes > 2 * _MAX_KIND_CHANGES


def placeholder_for(secret: str) -> str:
    """Return the placeholder that is stored for a secret; equal secrets have equal placeholders."""
    return f"[key-{hashlib.sha256(secret.encode('utf-8', 'replace')).hexdigest()[:8]}]"


def is_masked(text: str) -> bool:
    """Return whether a text was stored with a placeholder for a secret."""
    return _PLACEHOLDER.search(text) is not None


def mask_model_spec(spec: str) -> str:
    """Return a model's name or address in a form that may be stored."""
    return mask_address(spec) if "://" in spec else _KEY_CHARS_RUN.sub(_mask_run, spec)


def has_key_prefix(text: str) -> bool:
    """Return whether a text contains the prefix of a service's keys."""
    return _KEY_PREFIX.search(text) is not None


def check_no_key(label: str, text: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise UsageError if a text that is stored unchanged contains a key.

    `label` names the text.
    """
    if (
        has_key_prefix(text)
        or mask_address(text) != text
        or any(key in text for key in _keys_in_environ(environ))
    ):
        raise UsageError(
            f"{label} holds what looks like a key, and is stored: give keys by the provider's "
            "variable, by TOOLMARK_API_KEY or by --header"
        )


def _keys_in_environ(environ: Mapping[str, str]) -> list[str]:
    """Return the keys in environment variables."""
    return [
        value
        for name, value in environ.items()
        if is_secret_name(name)
        and len(value) >= _MIN_KEY_CHARS
        and not _is_path(value)
        and not _FLAG_VALUE.fullmatch(value)
    ]


def mask_address(url: str) -> str:
    """Return an address in a form that may be stored: what looks like a key is masked."""
    for secret in sorted(set(keys_in_address(url)), key=len, reverse=True):
        url = url.replace(secret, placeholder_for(secret))
    return url


def keys_in_address(url: str) -> Iterator[str]:
    """Yield the parts of an address that look like keys, as written there."""
    _, sign, remaining = url.partition("://")
    if not sign:
        return
    path, _, fragment = remaining.partition("#")
    path, _, query = path.partition("?")
    host, *steps = path.split("/")
    user, _, _ = host.rpartition("@")
    yield from filter(None, user.split(":"))
    for step in steps:
        if looks_like_key(unquote(step)) or _UUID.search(step):
            yield step
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        yield from (part for part in (name, value) if looks_like_key(unquote(part)))
        if value and is_secret_name(name):
            yield value
    if looks_like_key(fragment):
        yield fragment


def key_paths_in_body(body: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths in a request's body that contain a key, by name or by form."""
    for name, value in body.items():
        field_path = f"{path}{name}"
        if looks_like_key(str(name)):
            yield placeholder_for(field_path)
        else:
            yield from _key_paths_in_value(str(name), value, field_path)


def _key_paths_in_value(name: str, value: Any, field_path: str) -> Iterator[str]:
    match value:
        case Mapping():
            yield from key_paths_in_body(value, f"{field_path}.")
        case list() | tuple():
            for each in value:
                yield from _key_paths_in_value(name, each, field_path)
        case str() if name in _PUBLIC_FIELDS and (
            _DIGEST.fullmatch(value) or not looks_like_key(value)
        ):
            return
        case str() if _is_secret_field(name, value) or (
            not _is_path(value) and looks_like_key(value)
        ):
            yield field_path
        case _:
            return


def _is_secret_field(name: str, value: str) -> bool:
    return (
        len(value) >= _MIN_KEY_CHARS and is_secret_name(name) and not _FLAG_VALUE.fullmatch(value)
    )


def mask_command(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return a command line in a form that may be stored.

    Keys, by name, form or place, are masked.
    """
    secrets = {*secrets_in_arguments(words), *_keys_in_environ(environ)}
    found = []
    for word in words:
        for secret in (*keys_in_address(word), *sorted(secrets, key=len, reverse=True)):
            word = word.replace(secret, placeholder_for(secret)) if len(secret) > 1 else word
        found.append(_KEY_CHARS_RUN.sub(_mask_run, word))
    return found


def mask_random_text(text: str) -> str:
    """Return a text in which what has the form of a key is masked.

    Unlike in a command line, no part is taken for a path that exists here.
    """
    return _LONG_KEY_CHARS_RUN.sub(_mask_random_run, text)


def _mask_random_run(run: re.Match[str]) -> str:
    text = run[0]
    masked = _mask_key_like_run(run) if looks_like_key(text) else ""
    if not masked:
        return text
    return placeholder_for(text) if masked == text else masked  # base64, whose pieces are not keys


def _mask_run(run: re.Match[str]) -> str:
    return run[0] if _is_path(run[0]) else _mask_key_like_run(run)


def _mask_key_like_run(run: re.Match[str]) -> str:
    text = run[0]
    if not looks_like_key(text):
        return text
    has_prefix = _KEY_PREFIX.search(text) is not None
    return placeholder_for(text) if has_prefix else _ALPHANUMERIC_RUN.sub(_mask_piece, text)


def _mask_piece(piece: re.Match[str]) -> str:
    return placeholder_for(piece[0]) if _is_random(piece[0]) else piece[0]
