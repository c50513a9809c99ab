"""Create certificates for `webhook_sink` and its authority, for use only on this machine.

Both certificates are kept in one folder. The authority's key is discarded as soon as it has
signed the server's certificate, so a client that trusts the authority trusts only this certificate.
"""

import fcntl
import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

VALID = timedelta(days=365)
RENEWED = timedelta(days=7)  # a sink that starts this close to expiry renews both files
NAMES = (
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    x509.IPAddress(ipaddress.ip_address("::1")),
)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths to two files: the authority's certificate, and the server's key and certificate."""

    authority: Path
    server: Path


def certificates(folder: Path) -> Certificates:
    """Return a folder's certificates. Creates them on first use, and renews them before expiry."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = Certificates(folder / "ca.pem", folder / "server.pem")
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # sinks that start at the same time share the certificates
        if not _are_good(kept):
            _make(kept)
    return kept


def _are_good(kept: Certificates) -> bool:
    try:
        authority = x509.load_pem_x509_certificate(kept.authority.read_bytes())
        server = x509.load_pem_x509_certificate(kept.server.read_bytes())
        server.verify_directly_issued_by(authority)
    except (FileNotFoundError, ValueError, InvalidSignature):
        return False
    return server.not_valid_after_utc - RENEWED > datetime.now(UTC)


def _make(kept: Certificates) -> None:
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = _name("webhook_sink local CA")
    authority = (
        _builder(issuer, issuer, authority_key.public_key(), issuer_key=authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _builder(issuer, _name("127.0.0.1"), key.public_key(), authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(NAMES), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write(kept.authority, _pem(authority), mode=0o644)
    _write(kept.server, private + _pem(server), mode=0o600)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _builder(
    issuer: x509.Name,
    subject: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer_key: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # allows for clock skew
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False
        )
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write(path: Path, content: bytes, *, mode: int) -> None:
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # create the file with its final mode
    with os.fdopen(os.open(draft, flags, mode), "wb") as file:
        file.write(content)
    draft.replace(path)
