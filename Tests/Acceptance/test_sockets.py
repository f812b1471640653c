"""WebSockets and HTTP/2 in front of the recorder, with sockets of our own and with curl."""

import base64
import hashlib
import json
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

from test_recording import Recorder, assay

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def frame(data, masked=False, opcode=1, last=True):
    head = bytes([(0x80 if last else 0) | opcode])
    bit = 0x80 if masked else 0
    if len(data) < 126:
        head += bytes([bit | len(data)])
    elif len(data) < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", len(data))
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", len(data))
    if masked:
        mask = b"mask"
        head += mask
        data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
    return head + data


class Reader:
    """Reads heads and frames of one connection."""

    def __init__(self, connection):
        self.connection = connection
        self.buffer = b""

    def take(self, count):
        while len(self.buffer) < count:
            data = self.connection.recv(65536)
            if not data:
                raise EOFError
            self.buffer += data
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def head(self):
        text = b""
        while not text.endswith(b"\r\n\r\n"):
            text += self.take(1)
        return text.decode()

    def frame(self):
        first, second = self.take(2)
        count = second & 127
        if count == 126:
            (count,) = struct.unpack(">H", self.take(2))
        elif count == 127:
            (count,) = struct.unpack(">Q", self.take(8))
        mask = self.take(4) if second & 128 else bytes(4)
        data = self.take(count)
        return first & 15, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))


class Backend:
    """Echoes what it is told on a WebSocket, and answers every other request with JSON."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heads = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        reader = Reader(connection)
        try:
            while True:
                head = reader.head()
                self.heads.append(head)
                if "upgrade: websocket" in head.lower() and "/refuse" not in head:
                    return self.echo(head, reader, connection)
                body = b'{"ok":true}'
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n%s" % (len(body), body)
                )
        except (EOFError, OSError):
            connection.close()

    def echo(self, head, reader, connection):
        key = re.search(r"(?i)sec-websocket-key: (.*)\r", head).group(1)
        accept = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
        # The first message comes in one piece with the answer.
        connection.sendall(
            (
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Accept: {accept}\r\n\r\n"
            ).encode()
            + frame(b'{"token":"planted-socket-secret-1","hello":"planted-socket-secret-1"}')
        )
        while True:
            opcode, data = reader.frame()
            if opcode == 8:
                return connection.close()
            connection.sendall(frame(b"echo " + data))


class Sockets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="assay-sockets-")
        self.backend = Backend()
        target = f"http://127.0.0.1:{self.backend.port}"
        self.recorder = Recorder(self.folder, "rec", "--target", target)
        self.heads = len(self.backend.heads)

    def tearDown(self):
        if self.recorder.process.poll() is None:
            self.recorder.stop()
        self.backend.listener.close()
        shutil.rmtree(self.folder)

    def connect(self, path, early=b""):
        port = int(self.recorder.proxy.rsplit(":", 1)[1])
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        connection.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
            ).encode()
            + early
        )
        return connection, Reader(connection)

    def test_a_websocket_passes_and_its_messages_are_told(self):
        connection, reader = self.connect("/live", frame(b"early", masked=True))
        self.assertTrue(reader.head().startswith("HTTP/1.1 101 "))
        self.assertIn(b"hello", reader.frame()[1])
        self.assertEqual(reader.frame(), (1, b"echo early"))
        for size in (1, 125, 126, 70_000, 2_000_000):
            connection.sendall(frame(b"x" * size, masked=True))
            self.assertEqual(len(reader.frame()[1]), size + 5)
        # In two frames, with a ping between them.
        connection.sendall(
            frame(b"one ", masked=True, last=False)
            + frame(b"", masked=True, opcode=9)
            + frame(b"message", masked=True, opcode=0)
        )
        connection.sendall(frame(b"", masked=True, opcode=8))
        connection.close()
        self.assertNotIn("permessage-deflate", self.backend.heads[self.heads])
        self.assertEqual(self.recorder.stop(), 0)
        text = pathlib.Path(self.folder, "rec", "recording.ndjson").read_text()
        self.assertFalse("planted-socket-secret" in text)
        notes = [line for line in map(json.loads, text.splitlines()) if "note" in line]
        said = [(line["from"], line["body"]) for line in notes]
        self.assertIn(("app", {"text": "early"}), said)
        self.assertIn(("backend", {"text": "echo early"}), said)
        self.assertIn(("app", {"text": "one message"}), said)
        # Longer than what is kept of a body: its length and its digest.
        self.assertTrue(any(body.get("omitted") == 2_000_000 for _, body in said))
        output = assay(self.folder, "distill", "rec", "--print", expect=4)
        self.assertIn("became a WebSocket and is left out", output)

    def test_a_refused_upgrade_is_an_answer_like_any_other(self):
        connection, reader = self.connect("/refuse")
        self.assertTrue(reader.head().startswith("HTTP/1.1 200 "))
        self.assertEqual(reader.take(11), b'{"ok":true}')
        self.assertEqual(connection.recv(1), b"", "whoever asked so asks anew")
        connection.close()

    def test_http2_is_told_to_come_with_http1(self):
        port = int(self.recorder.proxy.rsplit(":", 1)[1])
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
        answer = b""
        while data := connection.recv(65536):
            answer += data
        # An empty SETTINGS, then GOAWAY with HTTP_1_1_REQUIRED.
        self.assertEqual(answer[:9], b"\0\0\0\x04\0\0\0\0\0")
        self.assertEqual(answer[12], 7)
        self.assertEqual(answer[22:26], b"\0\0\0\x0d")
        connection.close()

    def test_an_upgrade_to_http2_is_not_asked_for(self):
        curl = ["curl", "-sS", "-m", "60", "--http2", self.recorder.proxy + "/a"]
        result = subprocess.run(curl, capture_output=True, text=True, timeout=90)
        self.assertEqual((result.returncode, result.stdout), (0, '{"ok":true}'), result.stderr)
        self.assertNotIn("h2c", self.backend.heads[-1])

    def test_packed_answers_are_asked_for_as_they_can_be_read(self):
        for sent, asked in (
            ("br", "identity"), ("gzip, deflate, br, zstd", "gzip, deflate"),
            ("gzip", "gzip"), ("br;q=1.0, gzip;q=0.5", "gzip;q=0.5"),
        ):
            curl = ["curl", "-sS", "-H", f"Accept-Encoding: {sent}", self.recorder.proxy + "/b"]
            subprocess.run(curl, check=True, capture_output=True, timeout=90)
            self.assertIn(f"Accept-Encoding: {asked}\r\n", self.backend.heads[-1])


if __name__ == "__main__":
    unittest.main()
