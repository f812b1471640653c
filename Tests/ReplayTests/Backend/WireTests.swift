import Foundation
import Testing
import TestSupport

/// What reaches a backend is what real senders send: nothing of ours goes over the wire.
@Suite("Requests on the wire")
struct WireTests {
    /// A backend that takes everything and writes down what it was sent.
    private static let server = #"""
        import http.server, os, sys
        port, log = int(sys.argv[1]), open(os.path.join(os.path.dirname(sys.argv[0]), 'log'), 'ab', 0)
        class Backend(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def answer(self):
                body = self.rfile.read(int(self.headers.get('content-length') or 0))
                log.write((self.requestline + '\n' + str(self.headers) + '\n').encode() + body + b'\n')
                self.send_response(200)
                self.send_header('content-length', '2')
                self.end_headers()
                self.wfile.write(b'{}')
            do_GET = do_POST = do_DELETE = answer
            def log_message(self, *arguments): pass
        http.server.ThreadingHTTPServer(('127.0.0.1', port), Backend).serve_forever()
        """#

    private static let profile = """
        assay: 1
        endpoints:
          revenuecat-webhook: POST /hooks/rc
          purchasely-webhook: POST /hooks/py
          register: {post: /register, body: {id: "{{id}}", device: "{{device}}"}}
          login: {post: /login, body: {account: "{{account}}", password: "{{password}}", id: "{{id}}"}}
          protected: GET /me
        secrets: {revenuecat-authorization: Bearer shared, revenuecat-signing: key, purchasely-signing: key}
        accounts: {create: {post: /accounts, body: {account: "{{account}}"}}}
        probes:
          user: {get: "/users/{{id}}"}
        """

    private static let contract = """
        contract: wire/everything
        title: One request of every kind
        clause: S-01
        source: wire test

        given:
          - register: ada

        steps:
          - call: again
            route: register
            user: ada
          - call: me
            route: protected
            user: ada
          - deliver: purchase
            event: {type: INITIAL_PURCHASE, user: ada}
          - deliver: other
            purchasely: {name: ACTIVATE, user: ada}
          - app: launch
            on: one
          - app: launch
            on: two
            runs: despia
          - app: login
            on: two
            account: acc

        expect:
          status: 200
          state:
            ada: {exists: true}
        """

    /// Headers that HTTP itself needs, or that the fact sheets name.
    private static let genuine: Set<String> = [
        "host", "connection", "content-length", "content-type", "transfer-encoding", "accept",
        "authorization", "x-revenuecat-webhook-signature", "x-purchasely-request-signature",
        "x-purchasely-signature", "x-purchasely-timestamp", "user-agent",
    ]

    @Test func `requests to the backend carry no Assay mark`() async throws {
        let folder = try TemporaryFolder()
        let script = try folder.write(Self.server, to: "server.py")
        _ = try folder.write(Self.profile, to: "assay.yaml")
        _ = try folder.write(Self.contract, to: "mine/wire/everything.yaml")
        let result = try await Program.run(
            [
                "verify", "--contracts", "mine", "--only", "wire/everything", "--start",
                "exec python3 '\(script)' {{port}}", "--profile", "assay.yaml", "--level", "must",
            ],
            folder: folder.path
        )
        let log = try #require(folder.read("log"), "\(result.errors)")
        // One of every kind went out; without that, nothing is proven.
        for line in [
            "POST /register", "GET /me", "POST /hooks/rc", "POST /hooks/py", "GET /users/",
            "POST /login",
        ] {
            #expect(log.contains(line), "nothing like '\(line)' was sent: \(result)")
        }
        #expect(log.components(separatedBy: "POST /register").count - 1 >= 4)
        #expect(!log.lowercased().contains("x-assay"))
        for line in log.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":"), !line.contains("{"), !line.contains("HTTP/")
            else { continue }
            let name = line[..<colon].lowercased()
            #expect(Self.genuine.contains(name), "a header of ours: \(line)")
        }
    }
}
