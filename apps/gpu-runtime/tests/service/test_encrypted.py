"""TLS and client certificates."""

from __future__ import annotations

import asyncio
import datetime
from dataclasses import dataclass

import grpc
import grpc.aio
import pytest
from contract_client import ContractClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from scripted_engine import Script, ScriptedEngine

from agentlightning_runtime.gen.agentlightning.runtime.v1 import runtime_pb2
from agentlightning_runtime.service.serve import ServeOptions, ServerTls, serve


@dataclass
class Identity:
    """A certificate and its key, PEM and otherwise."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        no_password = serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)


def make_identity(name: str, signer: Identity | None = None) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    )
    return Identity(builder.sign(key if signer is None else signer.key, hashes.SHA256()), key)


async def ask(options: ServeOptions, credentials: grpc.ChannelCredentials | None, key: str) -> str:
    """The reported device, or the status of the failed call."""
    server = await serve(ScriptedEngine(Script()), options)
    address = f"localhost:{server.address.rpartition(':')[2]}"
    channel = (
        grpc.aio.insecure_channel(address) if credentials is None else grpc.aio.secure_channel(address, credentials)
    )
    try:
        async with channel:
            call = ContractClient(channel, key).call("GetCapabilities", runtime_pb2.GetCapabilitiesRequest())
            return (await call).device
    except grpc.aio.AioRpcError as error:
        return error.code().name
    finally:
        await server.stop()


@pytest.fixture(scope="module")
def authority() -> Identity:
    return make_identity("authority")


@pytest.fixture(scope="module")
def server_identity(authority: Identity) -> Identity:
    return make_identity("localhost", authority)


def test_a_server_with_a_certificate_is_reached_by_tls_and_a_key_alone(
    authority: Identity, server_identity: Identity
) -> None:
    tls = ServerTls(server_identity.certificate_pem, server_identity.key_pem)
    # Listening beyond loopback is allowed with both.
    options = ServeOptions(host="0.0.0.0", tls=tls, api_key="key")
    trusting = grpc.ssl_channel_credentials(authority.certificate_pem)
    assert asyncio.run(ask(options, trusting, "key")) == "none"
    assert asyncio.run(ask(options, trusting, "another")) == "UNAUTHENTICATED"
    assert asyncio.run(ask(options, None, "key")) == "UNAVAILABLE"


def test_client_certificates_stand_in_for_a_key(authority: Identity, server_identity: Identity) -> None:
    tls = ServerTls(server_identity.certificate_pem, server_identity.key_pem, authority.certificate_pem)
    options = ServeOptions(host="0.0.0.0", tls=tls)
    client = make_identity("trainer", authority)
    stranger = make_identity("stranger")

    def credentials(identity: Identity | None) -> grpc.ChannelCredentials:
        if identity is None:
            return grpc.ssl_channel_credentials(authority.certificate_pem)
        return grpc.ssl_channel_credentials(authority.certificate_pem, identity.key_pem, identity.certificate_pem)

    assert asyncio.run(ask(options, credentials(client), "")) == "none"
    assert asyncio.run(ask(options, credentials(None), "")) == "UNAVAILABLE"
    assert asyncio.run(ask(options, credentials(stranger), "")) == "UNAVAILABLE"
