"""What `assay import` makes of a curl command is what curl itself sends."""

import http.server
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

from serving import BINARY

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
# What curl says of itself, and how a message is framed.
OWN = {"host", "user-agent", "accept", "accept-encoding", "content-length", "transfer-encoding",
       "expect", "connection"}
FLAGS = r"""
-XPOST
-sSL -XDELETE
-H'x: 1' -H "Y:2"
-sHx:1
-H 'Empty;'
-d1
-d '{"a":1}'
-d x -H 'Content-Type:'
-d x -H 'Content-Type: text/plain'
-d ''
--json '{"a":' --json '1}'
-d @body.json
--data-binary @body.json
--data-raw @body.json
--data-urlencode 'a=b c&d'
--data-urlencode '=b c'
--data-urlencode 'x=~-._/?é'
--data-urlencode a@body.json
-G -d q=1 --data-urlencode 'r=2 3'
-T body.json
-I
-A me -e http://from
--oauth2-bearer t
-b 'a=1' --cookie b=2
-u 'ada:p w'
-r 0-9
--request-target '/other?x=1' -X OPTIONS
> out.json 2>&1
-d "a\$b \"c\" \d $ 5"
-d $'\101\t\xc3\xa9 it\'s'
-g
-F 'n=v' -F 'f=@dir/pic.png;type=image/gif' --form-string 's=@x;y' -F 'j=<body.json;type=application/json'
-F 'f=@dir/pic.png'
-F 'f=@body.json;filename=x.txt'
-F 'a="b;c"'
-F 'a=b;c'
-d a=1 -d b=2 -X PUT
-d 1 --next BASE/b
-X PATCH --data-raw '{"a":"b\nc"}'
""".strip().split("\n")


class Listener(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = []

    def take(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.seen.append((self.command, self.path, list(self.headers.items()), body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = take

    def log_message(self, *_):
        pass


class Curl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
        cls.base = f"http://127.0.0.1:{cls.server.server_port}"
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.folder = tempfile.mkdtemp()
        pathlib.Path(cls.folder, "body.json").write_text('{\n"a": 1\n}\n')
        pathlib.Path(cls.folder, "dir").mkdir()
        pathlib.Path(cls.folder, "dir/pic.png").write_bytes(b"\x01png")

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        shutil.rmtree(cls.folder)

    def sent(self, own, *command):
        """What a program sends, without what it says of itself; boundaries by one name."""
        Listener.seen.clear()
        done = subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = []
        for method, path, fields, body in Listener.seen:
            kept = []
            for name, value in fields:
                name = name.lower()
                if name in OWN - own:
                    continue
                boundary = re.search(r"boundary=(\S+)", value)
                if boundary:
                    body = body.replace(boundary[1].encode(), b"B")
                    value = value.replace(boundary[1], "B")
                kept.append((name, value))
            found.append((method, path, sorted(kept), body))
        return found

    def test_a_command_is_the_request_that_curl_sends(self):
        for flags in FLAGS:
            with self.subTest(flags=flags):
                command = f"curl -sS {self.base}/a " + flags.replace("BASE", self.base)
                own = {"user-agent"} if "-A" in flags else {"accept"} if "--json" in flags else set()
                real = self.sent(own, "bash", "-c", command)
                self.assertTrue(real)
                pathlib.Path(self.folder, "commands.txt").write_text(command + "\n")
                shutil.rmtree(pathlib.Path(self.folder, "recorded"), ignore_errors=True)
                ours = self.sent(own, BINARY, "import", "commands.txt", "recorded", "--target",
                                 self.base)
                self.assertEqual(ours, real)


if __name__ == "__main__":
    unittest.main()
