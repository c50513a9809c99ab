"""Create TLS contexts and certificates for test servers.

Most certificates are issued by a certificate authority that exists only for the test run.
"""

import datetime as dt
import ssl
import tempfile
import warnings
from functools import cache
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NOW, DAY = dt.datetime.now(dt.UTC), dt.timedelta(days=1)
NAMES = ("127.0.0.1", "::1", "localhost", "hooks.example.com", "*.hooks.example.com")


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="chatbots-certificates-"))


@cache
def _authority() -> trustme.CA:
    return trustme.CA()


def _context(chain: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    chain.configure_cert(context)
    return context


@cache
def ca_file() -> str:
    """Return the path of the authority's certificate, so that clients can trust the authority."""
    path = _folder() / "ca.pem"
    _authority().cert_pem.write_to_path(path)
    return str(path)


@cache
def chain_file() -> str:
    """Return the path of a file with a server's key and a valid certificate chain."""
    path = _folder() / "server.pem"
    _authority().issue_cert(*NAMES).private_key_and_cert_chain_pem.write_to_path(path)
    return str(path)


@cache
def good() -> ssl.SSLContext:
    return good_of_its_own()


def good_of_its_own() -> ssl.SSLContext:
    """Return a new context with a valid certificate. The caller may change the context."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain_file())
    return context


@cache
def expired() -> ssl.SSLContext:
    return _context(_authority().issue_cert(*NAMES, not_after=NOW - DAY))


@cache
def not_yet_valid() -> ssl.SSLContext:
    return _context(_authority().issue_cert(*NAMES, not_before=NOW + DAY))


@cache
def wrong_name() -> ssl.SSLContext:
    return _context(_authority().issue_cert("other.example.com", "192.0.2.1"))


@cache
def untrusted() -> ssl.SSLContext:
    """Return a context with a certificate from an untrusted authority."""
    return _context(trustme.CA().issue_cert(*NAMES))


@cache
def self_signed() -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = _folder() / "self-signed.pem"
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(secret + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


@cache
def old() -> ssl.SSLContext:
    """Return a context for a server that supports only TLS 1.0 and 1.1."""
    context = _context(_authority().issue_cert(*NAMES))
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context
