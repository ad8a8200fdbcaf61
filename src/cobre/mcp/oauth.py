"""Access tokens of an authorization server (OAuth 2.1): signed, for this server, and still valid.

Its public keys come from a file and never from an address: the server fetches nothing, and the kernel lets it read
nothing outside its folders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

from cobre.errors import CobreError

__all__ = ["Issuer", "SignedTokens", "issuer_settings", "read_keys"]

ALGORITHMS = ("ES256", "ES384", "EdDSA", "RS256", "PS256")
"""With a private key at the issuer alone; a shared secret would let this server make tokens."""
LONGEST_FILE = 1 << 20
LEEWAY_S = 30.0


@dataclass(frozen=True)
class Issuer:
    """Who makes the tokens, for what, and with which keys."""

    issuer: str
    resource: str
    """The address of this server as clients know it; tokens must be for it."""
    keys_file: Path
    scopes: tuple[str, ...] = ()
    """A token must have all of them."""


class SignedTokens:
    """Accepts tokens that the issuer signed for this server."""

    def __init__(self, issuer: Issuer, keys: Mapping[str | None, Any]) -> None:
        self._issuer = issuer
        self._keys = keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who calls; None for a token that does not count."""
        try:
            name = jwt.get_unverified_header(token).get("kid")
            key = self._keys.get(name) if isinstance(name, str | None) else None
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._issuer.resource,
                issuer=self._issuer.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError):
            return None
        scope = claims.get("scope")
        subject = claims.get("sub")
        client = claims.get("client_id") or claims.get("azp") or subject
        return AccessToken(
            token="-",  # noqa: S106 - no secret
            client_id=str(client or "unknown"),
            scopes=scope.split() if isinstance(scope, str) else [],
            resource=self._issuer.resource,
            subject=subject if isinstance(subject, str) else None,
            claims={"iss": self._issuer.issuer},
        )


def read_keys(path: Path) -> dict[str | None, Any]:
    """The public keys of a JWKS file by their ids; the only one also for tokens that name none."""
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_FILE)
        mode = path.stat().st_mode
    except OSError as error:
        raise CobreError(
            f"cannot read the keys in {path}: {error.strerror}",
            kind="MissingFile",
            suggestion="fetch them from the jwks_uri of the issuer",
        ) from error
    if mode & 0o022:
        raise CobreError(
            f"others may change the keys in {path}", suggestion=f"keep them from that: chmod go-w {path}"
        )
    try:
        found = [jwt.PyJWK.from_dict(each) for each in json.loads(data)["keys"] if each.get("use") != "enc"]
    except (jwt.PyJWTError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CobreError(
            f"{path} holds no set of keys (JWKS): {error}",
            suggestion="fetch it from the jwks_uri of the issuer",
        ) from error
    usable = [key for key in found if key.algorithm_name in ALGORITHMS]
    if not usable:
        raise CobreError(
            f"{path} holds no public key of {', '.join(ALGORITHMS)}",
            suggestion="ask the issuer for another key",
        )
    keys: dict[str | None, Any] = {key.key_id: key for key in usable}
    if len(usable) == 1:
        keys[None] = usable[0]
    else:
        keys.pop(None, None)
    return keys


def issuer_settings(issuer: Issuer) -> AuthSettings:
    """What clients are told: where to get a token, and for what. Raises for addresses without TLS."""
    for url in (issuer.issuer, issuer.resource):
        parts = urlsplit(url)
        if parts.hostname is None or (
            parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1")
        ):
            raise CobreError(f"{url} is no https address", suggestion="give the whole address: https://…")
    values: dict[str, Any] = {
        "issuer_url": issuer.issuer,
        "resource_server_url": issuer.resource,
        "required_scopes": list(issuer.scopes) or None,
        "validate_token_resource": True,
    }
    return AuthSettings(**values)
