import TestBackend
import Testing
import TestSupport
import Values

/// A backend receives the same headers from Assay as from the real senders.
@Suite("Requests on the wire")
struct WireTests {
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
        let backend = try BackendDouble.listening { _, _ in .json([:]) }
        let folder = try TemporaryFolder()
        _ = try folder.write(Self.profile, to: "assay.yaml")
        _ = try folder.write(Self.contract, to: "mine/wire/everything.yaml")
        let ports = ["revenuecat", "onesignal", "firebase", "purchasely", "despia"].flatMap {
            ["--listen", "\($0)=127.0.0.1:0"]
        }
        let result = try await Program.run(
            [
                "verify", "--contracts", "mine", "--only", "wire/everything", "--target",
                "http://127.0.0.1:\(backend.port)", "--profile", "assay.yaml", "--level", "must",
            ] + ports,
            folder: folder.path
        )
        await backend.close()
        let requests = backend.arrivals.map(\.request)
        // One request of every kind was sent; without that, nothing is proven.
        for (method, path) in [
            ("POST", "/register"), ("GET", "/me"), ("POST", "/hooks/rc"), ("POST", "/hooks/py"),
            ("GET", "/users/"), ("POST", "/login"),
        ] {
            #expect(
                requests.contains { $0.method == method && $0.path.hasPrefix(path) },
                "\(method) \(path) was not sent: \(result)"
            )
        }
        #expect(requests.count { $0.path == "/register" } >= 4)
        for arrival in backend.arrivals {
            let text = String(decoding: arrival.bytes, as: UTF8.self)
            #expect(!text.lowercased().contains("x-assay"), "\(text)")
            for field in arrival.request.fields {
                #expect(Self.genuine.contains(field.name.lowercased()), "\(field)")
            }
        }
    }
}
