"""How an agent reaches a bus that speaks TLS, on real servers."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from dataclasses import replace

import pytest
from countersign import BusLoginError, BusTlsError, EnrolmentError, Gate, ToolCall
from countersign.login import GuardedClient, Login

from authority import Authority, TlsServer
from conftest import refused
from console import Key


async def test_an_agent_shows_its_certificate_and_gets_its_answer_over_tls(bench, tmp_path, request_id):
    authority = Authority(tmp_path)
    server = TlsServer(tmp_path, bench, authority.issue("127.0.0.1"), authority.ca)
    cert, key = authority.issue("agent.example")
    url = f"tls://127.0.0.1:{server.port}"
    enrolment = replace(bench.enrolment(), nats_url=url, tls_ca=authority.ca, tls_cert=cert, tls_key=key)
    context = ssl.create_default_context(cafile=authority.ca)
    context.load_cert_chain(cert, key)
    console = replace(bench.console)
    await console.connect(url, bench.login, tls=context)
    try:
        await console.create_streams()
        async with Gate.connect(enrolment) as gate:
            call = ToolCall(name="t", args={}, risk="low", request_id=request_id)
            asking = asyncio.ensure_future(gate.ask(call, timeout=20))
            await console.decide(request_id)
            assert (await asking).allowed
        for wrong in (
            replace(enrolment, tls_ca=None),
            replace(enrolment, tls_ca=Authority(tmp_path, "stranger").ca),
        ):
            assert "tls_ca" in await refused(wrong, BusTlsError)
        without = replace(enrolment, tls_cert=None, tls_key=None)
        assert "asks for a certificate" in await refused(without, BusTlsError)
        cert, key = Authority(tmp_path, "stranger").issue("agent.example")
        assert "tls_cert" in await refused(replace(enrolment, tls_cert=cert, tls_key=key), BusTlsError)
        await refused(replace(enrolment, tls_key=None), EnrolmentError)
        await refused(replace(enrolment, tls_ca=str(tmp_path / "none")), EnrolmentError)
        stranger = Key()
        unknown = {"nkey_seed": stranger.seed, "inbox_prefix": f"_INBOX_{stranger.public}"}
        await refused(replace(enrolment, **unknown), BusLoginError)
    finally:
        await console.nc.close()
        server.stop()


async def test_a_certificate_that_the_console_takes_is_good_for_every_python(bench, console, tmp_path, monkeypatch):
    authority = Authority(tmp_path, plain=True)
    pair = authority.issue("127.0.0.1")
    server = TlsServer(tmp_path, bench, pair)
    made = ssl.create_default_context

    def strict(**options):
        """What Python 3.13 makes."""
        context = made(**options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr("ssl.create_default_context", strict)
    login = Login.of(replace(bench.enrolment(), nats_url=f"tls://127.0.0.1:{server.port}", tls_ca=authority.ca))
    try:
        client = GuardedClient(login)
        await client.connect(login.servers, allow_reconnect=False, **login.options)
        assert client.is_connected
        await client.close()
    finally:
        server.stop()


async def test_a_server_that_hangs_up_on_a_certificate_is_told_as_such(bench, tmp_path):
    """With TLS 1.3 it does so after the handshake, and its word why may be lost."""
    authority = Authority(tmp_path)
    cert, key = authority.issue("127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)

    async def hanging_up(_, writer):
        info = {"server_id": "N", "version": "2.15.1", "headers": True, "max_payload": 1048576}
        writer.write(b"INFO " + json.dumps({**info, "tls_required": True, "tls_verify": True}).encode() + b"\r\n")
        await writer.start_tls(context)
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()

    async with await asyncio.start_server(hanging_up, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        enrolment = replace(
            bench.enrolment(),
            nats_url=f"tls://127.0.0.1:{port}",
            tls_ca=authority.ca,
            tls_cert=cert,
            tls_key=key,
        )
        with pytest.raises(BusTlsError, match="hung up"):
            async with Gate.connect(enrolment, connect_timeout=1):
                pass


@pytest.mark.parametrize(
    ("host", "days", "reported"), [("127.0.0.1", -1, "expired"), ("elsewhere.example", 1, "127.0.0.1")]
)
async def test_an_expired_or_foreign_certificate_is_named(bench, tmp_path, host, days, reported):
    authority = Authority(tmp_path)
    server = TlsServer(tmp_path, bench, authority.issue(host, days=days))
    try:
        url = f"tls://127.0.0.1:{server.port}"
        said = await refused(replace(bench.enrolment(), nats_url=url, tls_ca=authority.ca), BusTlsError)
        assert reported in said
    finally:
        server.stop()


@pytest.mark.parametrize(("scheme", "with_ca"), [("tls", False), ("tls", True), ("nats", True)])
async def test_nothing_of_the_login_is_sent_without_tls(bench, tmp_path, scheme, with_ca):
    """A server in the middle says that it has no TLS, to get the password."""
    heard = bytearray()

    async def middle(reader, writer):
        info = {"server_id": "N", "version": "2.15.1", "headers": True, "max_payload": 1048576, "auth_required": True}
        writer.write(b"INFO " + json.dumps({**info, "tls_required": False}).encode() + b"\r\n")
        while part := await reader.read(4096):
            heard.extend(part)
        writer.close()

    async with await asyncio.start_server(middle, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        enrolment = replace(
            bench.enrolment(),
            nats_url=f"{scheme}://ada:hunter2@127.0.0.1:{port}",
            tls_ca=Authority(tmp_path).ca if with_ca else None,
        )
        await refused(enrolment, BusTlsError)
    assert bytes(heard) == b""


async def test_a_library_that_cannot_be_kept_from_logging_in_opens_no_gate_with_tls(bench, tmp_path, monkeypatch):
    monkeypatch.delattr("nats.aio.client.Client._connect_command")
    enrolment = replace(bench.enrolment(), tls_ca=Authority(tmp_path).ca)
    assert "nats-py" in await refused(enrolment, BusTlsError)
