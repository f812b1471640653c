import Foundation
import Testing
import TestSupport
import Values

/// Backends that no suite should have to meet: the run ends, says what it could not see, blames
/// nobody for what it did not see, and leaves no process behind.
@Suite("Backends that misbehave")
struct BadBackendTests {
    /// A server in a few lines of another language; its one argument says how it misbehaves.
    private static let server = #"""
        import os, socket, subprocess, sys, threading
        mode, port, data = sys.argv[1], int(sys.argv[2]), sys.argv[3]
        if mode == 'forks':
            child = subprocess.Popen(['sleep', '86400'], start_new_session=True)
            open(os.path.join(os.path.dirname(sys.argv[0]), 'child.pid'), 'w').write(str(child.pid))
        OK = b'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
        # Whoever closes says so: on a busy machine the next request meets a closing connection.
        if mode == "serialised": OK = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(('127.0.0.1', port))
        server.listen(128)
        forever = threading.Event()
        def request(connection, data):
            while b'\r\n\r\n' not in data:
                part = connection.recv(65536)
                if not part: return None
                data += part
            head, data = data.split(b'\r\n\r\n', 1)
            length = 0
            for line in head.lower().split(b'\r\n'):
                if line.startswith(b'content-length:'): length = int(line.split(b':')[1])
            while len(data) < length:
                part = connection.recv(65536)
                if not part: return None
                data += part
            return head, data[length:]
        def serve(connection):
            try:
                rest = b''
                while True:
                    found = request(connection, rest)
                    if not found: return
                    head, rest = found
                    if head.startswith(b'GET') or mode in ('serialised', 'forks'):
                        connection.sendall(OK)
                    elif mode == 'hangs': forever.wait()
                    elif mode == 'streams':
                        connection.sendall(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
                        while True: connection.sendall(b'1000\r\n' + b'x' * 4096 + b'\r\n')
                    elif mode == 'floods':
                        connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 10485760\r\n\r\n')
                        connection.sendall(b'x' * 10485760)
                    elif mode == 'babbles':
                        connection.sendall(b'NOT HTTP AT ALL\r\n\r\n\0\1\2')
                        return
                    elif mode == 'redirects':
                        connection.sendall(b'HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\n'
                                           b'content-length: 0\r\n\r\n')
                    else: return
                    if mode == 'serialised': return
            except OSError: pass
            finally: connection.close()
        while True:
            connection, _ = server.accept()
            if mode == 'serialised': serve(connection)
            else: threading.Thread(target=serve, args=(connection,), daemon=True).start()
        """#

    private struct Outcome {
        let result: Program.Result
        let verdicts: [String: String]
        let codes: [String: [String]]
        let folder: TemporaryFolder
    }

    /// The limit holds what never answers; whoever answers is waited for, however busy the machine.
    private func verify(_ mode: String, _ arguments: [String]) async throws -> Outcome {
        let folder = try TemporaryFolder()
        let script = try folder.write(Self.server, to: "server.py")
        let result = try await Program.run(
            [
                "verify", "--start", "exec python3 '\(script)' \(mode) {{port}} '{{data}}'",
                "--report", "json=r.json", "--max-time", mode == "hangs" ? "20s" : "10m",
            ] + arguments,
            folder: folder.path
        )
        let text = try #require(folder.read("r.json"), "\(result.errors)")
        let report = try JSONValue(parsing: text)
        var verdicts: [String: String] = [:]
        var codes: [String: [String]] = [:]
        for item in report["cases"]?.array ?? [] {
            let id = item["id"]?.string ?? ""
            verdicts[id] = item["verdict"]?.string
            codes[id] = item["findings"]?.array?.compactMap { $0["code"]?.string }
        }
        return Outcome(result: result, verdicts: verdicts, codes: codes, folder: folder)
    }

    @Test func `a backend that serves one connection at a time cannot prove a race`() async throws {
        let outcome = try await verify(
            "serialised",
            ["--only", "revenuecat/idempotency/concurrent-duplicates"]
        )
        #expect(!outcome.verdicts.isEmpty)
        for (id, verdict) in outcome.verdicts {
            // Nothing of such a server can be seen either, so it is to be blamed for nothing.
            #expect(verdict == "inconclusive", "\(id)")
            #expect(outcome.codes[id]?.contains("E901") == true, "\(id) \(outcome.codes)")
        }
        #expect([1, 5].contains(outcome.result.status))
    }

    @Test(
        "the run ends with a verdict and no case passes",
        arguments: ["hangs", "streams", "floods", "babbles", "redirects", "closes"]
    )
    func ends(mode: String) async throws {
        let outcome = try await verify(mode, ["--only", "revenuecat/smoke", "--only", "S-02"])
        #expect([1, 5, 6].contains(outcome.result.status), "\(outcome.result)")
        #expect(outcome.verdicts.count > 1)
        // Ten megabytes with a 200 are an acknowledgement; everything else is none.
        let green = outcome.verdicts.filter { $0.value == "passed" }.keys.sorted()
        let expected = mode == "floods" ? ["revenuecat/smoke/first-purchase"] : []
        #expect(green == expected, "\(outcome.verdicts) \(outcome.codes)")
    }

    @Test func `child processes in separate sessions end with the run`() async throws {
        let outcome = try await verify("forks", ["--only", "revenuecat/smoke"])
        let text = try #require(outcome.folder.read("child.pid"))
        let child = try #require(Int32(text))
        // Killed is not yet gone: who inherits it has to notice.
        let isGone = try await SettleTimeout.until { kill(child, 0) == -1 && errno == ESRCH }
        #expect(isGone, "process \(child) is still there")
    }
}
