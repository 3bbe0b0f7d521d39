"""Certificates for tests, and a server that shows one."""

from __future__ import annotations

import datetime as dt
import inspect
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nats_server import NatsServer


class Authority:
    """A private authority and what it signed, as PEM files. A `plain` one leaves out what RFC 5280 asks for."""

    def __init__(self, folder: Path, name: str = "ours", *, plain: bool = False) -> None:
        self.folder, self.name, self.plain = folder, name, plain
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.ca = self._write("ca", self._signed(self.issuer, self.key.public_key(), None), None)[0]

    def issue(self, host: str, *, days: int = 1) -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        return self._write(f"{host}{days}", self._signed(subject, key.public_key(), host, days), key)

    def _signed(self, subject, public, host, days=1):
        now = dt.datetime.now(dt.UTC)
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=3))
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
        )
        if host is not None:
            try:
                name = x509.IPAddress(ipaddress.ip_address(host))
            except ValueError:
                name = x509.DNSName(host)
            built = built.add_extension(x509.SubjectAlternativeName([name]), critical=False)
        if not self.plain:
            of_the_authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
            built = built.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            built = built.add_extension(of_the_authority, critical=False)
            built = built.add_extension(usage(signs_certificates=host is None), critical=True)
        return built.sign(self.key, hashes.SHA256())

    def _write(self, name: str, certificate, key) -> tuple[str, str]:
        files = (self.folder / f"{self.name}-{name}.pem", self.folder / f"{self.name}-{name}.key")
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        if key is not None:
            plain = serialization.NoEncryption()
            pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
            files[1].write_bytes(key.private_bytes(pem, form, plain))
        return str(files[0]), str(files[1])


def usage(*, signs_certificates: bool) -> x509.KeyUsage:
    none = dict.fromkeys(inspect.signature(x509.KeyUsage).parameters, False)
    return x509.KeyUsage(**{**none, "digital_signature": True, "key_cert_sign": signs_certificates})


class TlsServer(NatsServer):
    def __init__(self, folder: Path, bench, pair: tuple[str, str], ca: str | None = None) -> None:
        self.tls = {"cert_file": pair[0], "key_file": pair[1], "timeout": 10}
        if ca is not None:
            self.tls.update(ca_file=ca, verify=True)
        super().__init__(folder, bench.login.public, {("acme", "billing-bot"): bench.agent_key.public})

    def config(self) -> dict:
        return {**super().config(), "tls": self.tls}
