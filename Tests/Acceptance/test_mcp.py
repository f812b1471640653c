"""The tools of `assay mcp`, used by the protocol's Python client and by hand.

The client is independent of Assay: it validates every message against the protocol's schema.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import jsonschema
import yaml
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from serving import BINARY

START = f"exec '{BINARY}' backend --port {{{{port}}}} --data '{{{{data}}}}'"
SMOKE = "revenuecat/smoke/first-purchase"
IDEMPOTENCY = "revenuecat/idempotency/duplicate-initial-purchase"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_") and k != "CI"}
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientCapabilities": {}}}
TOOLS = ["init", "doctor", "verify", "explain", "replay", "send"]
# The command of each tool that has another name.
COMMANDS = {"replay": "verify"}


class Folder:
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.folder)

    def eventually(self, condition, what):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.1)
        self.fail(f"it never happened: {what}")


def text(result):
    return "\n".join(part.text for part in result.content)


class ClientTests(Folder, unittest.IsolatedAsyncioTestCase):
    def client(self, mode="auto"):
        server = StdioServerParameters(
            command=BINARY, args=["mcp"], cwd=str(self.folder), env=ENVIRONMENT)
        return Client(server, mode=mode)

    async def test_both_eras_of_the_protocol_list_the_same_tools(self):
        lists = []
        for mode, version in [("auto", "2026-07-28"), ("legacy", "2025-11-25")]:
            async with self.client(mode) as client:
                self.assertEqual(client.protocol_version, version)
                self.assertIn("doctor", client.instructions)
                lists.append([tool.model_dump() for tool in (await client.list_tools()).tools])
        self.assertEqual(lists[0], lists[1])
        self.assertEqual([tool["name"] for tool in lists[0]], TOOLS)

    async def test_the_schemas_are_the_options_of_help(self):
        async with self.client() as client:
            tools = (await client.list_tools()).tools
        for tool in tools:
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            command = COMMANDS.get(tool.name, tool.name)
            help_text = subprocess.run(
                [BINARY, command, "--help"], capture_output=True, text=True, check=True).stdout
            words = " ".join(help_text.split())
            for name, schema in tool.input_schema["properties"].items():
                self.assertIn(" ".join(schema["description"].split()), words, name)
                self.assertTrue(f"--{name}" in words or f"<{name}>" in words, name)
            self.assertNotIn("watch", tool.input_schema["properties"])
            self.assertNotIn("allow-host", tool.input_schema["properties"])

    async def test_an_agent_goes_from_init_to_a_replay(self):
        progress = []

        async def on_progress(value, total, message):
            progress.append((value, total, message))

        async with self.client() as client:
            result = await client.call_tool("init", {"start": START + " --defect no-dedupe"})
            self.assertFalse(result.is_error, text(result))
            self.assertTrue((self.folder / "assay.yaml").exists())
            result = await client.call_tool(
                "verify", {"only": ["revenuecat/idempotency", SMOKE], "seed": 7},
                progress_callback=on_progress)
            self.assertFalse(result.is_error, text(result))
            self.assertIn(IDEMPOTENCY, text(result))
            self.assertIn("exit code 1", text(result))
            values = [value for value, _, _ in progress]
            self.assertTrue(values)
            self.assertEqual(values, sorted(set(values)))
            self.assertTrue(all(value <= total for value, total, _ in progress))
            result = await client.call_tool("replay", {})
            self.assertIn("seed 7", text(result))
            self.assertNotIn(SMOKE, text(result))
            result = await client.call_tool("replay", {"only": [SMOKE], "seed": "7"})
            self.assertIn("exit code 0", text(result))
            result = await client.call_tool("explain", {"subject": ["source", "X-08"]})
            self.assertFalse(result.is_error, text(result))
            result = await client.call_tool("send", {"type": "RENEWAL", "print": True})
            self.assertEqual(
                json.loads(text(result).split("\n\nexit code 0")[0])["event"]["type"], "RENEWAL")

    async def test_errors_of_the_command_are_results_that_the_model_can_read(self):
        async with self.client() as client:
            for name, arguments, expected in [
                ("verify", {}, "assay init"),
                ("explain", {"subject": "S-0O3"}, "S-0O3"),
                ("explain", {}, "needs 'subject'"),
                ("verify", {"max_time": "9s"}, "did you mean 'max-time'?"),
                ("verify", {"dry-run": "yes"}, "true or false"),
                ("verify", {"only": [{"id": 1}]}, "takes a string"),
                ("send", {"type": "RENEWAL", "to": "http://example.com/hook"}, "example.com"),
            ]:
                result = await client.call_tool(name, arguments)
                self.assertTrue(result.is_error, arguments)
                self.assertIn(expected, text(result))
            with self.assertRaises(MCPError) as caught:
                await client.call_tool("deploy", {})
            self.assertEqual(caught.exception.code, -32602)


class Server:
    """A process of `assay mcp`, to which a test writes lines by hand."""

    def __init__(self, test, *arguments, folder=None):
        self.process = subprocess.Popen(
            [BINARY, "mcp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=folder or test.folder, env=ENVIRONMENT)
        # A server that hangs must not hang the suite.
        guard = threading.Timer(300, self.process.kill)
        guard.start()
        test.addCleanup(guard.cancel)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def write(self, message):
        line = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def call(self, id, name, arguments, **meta):
        params = {"name": name, "arguments": arguments, "_meta": {**META["_meta"], **meta}}
        self.write({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def read(self):
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0", message
        return message

    def end(self):
        """Ends the input, and returns the rest of the output."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.wait()
        return [json.loads(line) for line in rest.splitlines()]


class ServerTests(Folder, unittest.TestCase):
    # A backend that never becomes ready, and leaves its process ID.
    HANGING = "echo $$ > backend.pid; exec sleep 600"

    def pid(self):
        file = self.folder / "backend.pid"
        self.eventually(lambda: file.exists() and file.read_text().strip(), "the backend starts")
        return int(file.read_text())

    def is_running(self, pid):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return False
        return state not in "ZX"

    def test_a_canceled_call_ends_its_programs_and_gets_no_response(self):
        server = Server(self)
        server.call("a", "verify", {"start": self.HANGING}, progressToken=1)
        pid = self.pid()
        server.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": "a"}})
        self.eventually(lambda: not self.is_running(pid), "the backend ends")
        server.call("b", "explain", {"subject": "S-03"})
        self.assertEqual(server.read()["id"], "b")
        # The ID of a canceled request is free again.
        server.call("a", "explain", {"subject": "S-03"})
        self.assertEqual(server.read()["id"], "a")
        self.assertEqual(server.end(), [])
        self.assertEqual(server.process.returncode, 0)

    def test_the_end_of_the_input_ends_all_programs(self):
        server = Server(self)
        server.call(1, "verify", {"start": self.HANGING})
        server.call(2, "verify", {"start": self.HANGING})
        pid = self.pid()
        self.assertEqual(server.end(), [])
        self.assertFalse(self.is_running(pid))
        self.assertEqual(server.process.returncode, 0)

    def test_a_killed_server_ends_all_programs(self):
        server = Server(self)
        server.call(1, "verify", {"start": self.HANGING})
        pid = self.pid()
        server.process.kill()
        self.eventually(lambda: not self.is_running(pid), "the backend ends")

    def test_no_path_leads_out_of_the_working_folder(self):
        inner = self.folder / "inner"
        inner.mkdir()
        (inner / "link").symlink_to(self.folder)
        (inner / "dangling").symlink_to(self.folder / "new.json")
        # A profile is found in the folders above, as far as the repository goes.
        (self.folder / ".git").mkdir()
        (self.folder / "assay.yaml").write_text("start: 'false'\n")
        before = sorted(self.folder.rglob("*"))
        server = Server(self, folder=inner)
        outside = ["../new.json", "link/new.json", "dangling", f"{self.folder}/new.json",
                   "link/inner/../new.json", f"{inner}/../new.json"]
        for number, (path, (name, option)) in enumerate(
            (path, option) for path in outside for option in [
                ("verify", "save"), ("verify", "baseline"), ("verify", "found"),
                ("verify", "report"), ("doctor", "write"), ("init", "write"), ("replay", "profile"),
            ]
        ):
            value = f"json={path}" if option == "report" else path
            arguments = {"start": "false", option: [value] if option == "report" else value}
            server.call(number, name, arguments)
            result = server.read()["result"]
            self.assertTrue(result["isError"])
            self.assertIn("outside the working folder", result["content"][0]["text"], arguments)
        server.call("none", "report", {})
        self.assertEqual(server.read()["error"]["code"], -32602)
        # The profile above the folder would get a list of failed cases beside it.
        server.call("above", "verify", {})
        self.assertIn("outside the working folder", server.read()["result"]["content"][0]["text"])
        self.assertEqual(server.end(), [])
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_malformed_lines_get_errors_and_the_server_goes_on(self):
        server = Server(self)
        lines = [
            ("", -32700, None), ("{", -32700, None), ("nonsense", -32700, None),
            ("[]", -32600, None), ("7", -32600, None), ("{}", -32600, None),
            ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
            ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
            ('{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600, 3),
            ('{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}', -32602, 4),
            ('{"jsonrpc":"2.0","id":5,"method":"tools/list"}', -32602, 5),
            ('{"jsonrpc":"2.0","id":6,"method":"no/method"}', -32601, 6),
            ("[" * 5000, -32700, None), ('{"id":"' + "x" * (5 << 20) + '"}', -32700, None),
        ]
        for line, code, id in lines:
            server.write(line)
            message = server.read()
            self.assertEqual((message["error"]["code"], message.get("id")), (code, id), line[:80])
        # Notifications and responses get no response.
        server.write({"jsonrpc": "2.0", "method": "notifications/unknown"})
        server.write({"jsonrpc": "2.0", "id": 9, "result": {}})
        server.write({"jsonrpc": "2.0", "id": 10, "method": "ping"})
        self.assertEqual(server.read(), {"jsonrpc": "2.0", "id": 10, "result": {}})
        self.assertEqual(server.end(), [])

    def test_unsupported_versions_name_the_supported_ones(self):
        server = Server(self)
        meta = {**META["_meta"], "io.modelcontextprotocol/protocolVersion": "1900-01-01"}
        server.write({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})
        error = server.read()["error"]
        self.assertEqual(error["code"], -32022)
        self.assertEqual(error["data"]["requested"], "1900-01-01")
        self.assertIn("2026-07-28", error["data"]["supported"])

    def test_the_folder_can_be_given_and_the_root_is_refused(self):
        server = Server(self, "--folder", str(self.folder), folder="/")
        server.call(1, "init", {"start": START})
        result = server.read()["result"]
        self.assertFalse(result["isError"], result)
        self.assertTrue((self.folder / "assay.yaml").exists())
        server.end()
        server = Server(self, folder="/")
        self.assertEqual(server.end(), [])
        self.assertEqual(server.process.returncode, 2)
        self.assertIn("--folder", server.process.stderr.read())


class SkillTests(Folder, unittest.TestCase):
    def test_the_skill_follows_the_format(self):
        run = subprocess.run([BINARY, "skill", str(self.folder)], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        file = self.folder / "assay" / "SKILL.md"
        content = file.read_text()
        match = re.match(r"---\n(.*?)\n---\n(.*)", content, re.DOTALL)
        fields = yaml.safe_load(match[1])
        self.assertEqual(fields["name"], file.parent.name)
        self.assertRegex(fields["name"], r"^[a-z0-9]+(-[a-z0-9]+)*$")
        self.assertTrue(0 < len(fields["description"]) <= 1024)
        self.assertLessEqual(len(fields["compatibility"]), 500)
        self.assertTrue(set(fields) <= {
            "name", "description", "license", "compatibility", "metadata", "allowed-tools"})
        self.assertTrue(all(isinstance(value, str) for value in fields["metadata"].values()))
        # The format recommends at most 500 lines and about 5,000 tokens.
        self.assertLess(content.count("\n"), 500)
        self.assertLess(len(content), 20_000)
        # A second run replaces the file.
        file.write_text("old")
        subprocess.run([BINARY, "skill", str(self.folder)], check=True, capture_output=True)
        self.assertEqual(file.read_text(), content)

    def test_every_command_of_the_skill_exists(self):
        subprocess.run([BINARY, "skill", str(self.folder)], check=True, capture_output=True)
        content = (self.folder / "assay" / "SKILL.md").read_text()
        commands = re.findall(r"`assay ([a-z]+)", content)
        self.assertGreater(len(commands), 4)
        for command in commands:
            run = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, command)


if __name__ == "__main__":
    unittest.main()
