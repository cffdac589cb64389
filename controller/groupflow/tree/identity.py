"""A tree's certificate, with which dispatchers and hosts prove that they belong to the tree, and encrypt."""

import hashlib
import json
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from groupflow._native import make_certificate


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of a certificate (DER), hexadecimal."""
    return hashlib.sha256(certificate).hexdigest()


@dataclass(frozen=True)
class Identity:
    """Certificate and key, PEM, which every host that has the token is given."""

    certificate: str
    key: str = field(repr=False)

    @staticmethod
    def make() -> "Identity":
        return Identity(*make_certificate("groupflow-tree"))

    @property
    def pin(self) -> str:
        """SHA-256 of the certificate, hexadecimal, by which hosts check it."""
        return fingerprint(ssl.PEM_cert_to_DER_cert(self.certificate))

    def context(self) -> ssl.SSLContext:
        """A server's TLS context, TLS 1.3 only."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
        with tempfile.TemporaryDirectory(prefix="groupflow-tree-") as folder:  # for its owner only
            path = Path(folder) / "identity.pem"
            path.touch(mode=0o600)
            path.write_text(self.certificate + self.key)
            context.load_cert_chain(path)
        return context

    def to_json(self) -> str:
        return json.dumps({"certificate": self.certificate, "key": self.key})

    @staticmethod
    def from_json(text: str) -> "Identity":
        form = json.loads(text)
        return Identity(form["certificate"], form["key"])
