import FakeServers
import Grammar
import Providers
import Redaction
import TestBackend
import Values

/// The control API over a world of its own, without a socket; time stands still unless it is moved.
struct ControlFixture {
    static let start = Instant(milliseconds: 1_790_000_000_000)

    /// An answer, with its body read.
    struct Answer {
        let status: Int
        let body: JSONValue

        var error: String { body["error"]?.string ?? "" }
        var hint: String { body["hint"]?.string ?? "" }
        subscript(name: String) -> JSONValue? { body[name] }
    }

    let fakes: FakeRegistry
    let receiver: BackendDouble
    let dispatcher: WebhookDispatcher
    let control: ControlAPI

    init(
        _ statuses: [Int] = [],
        standard: Int = 200,
        providers: ProviderTable = .all,
        keys: [Exchange.Party: Secret] = [:],
        servers: [FakeServer] = [],
        allowedHosts: Set<String> = [],
        token: Secret? = nil
    ) {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 22,
            keys: keys,
            providers: providers,
            wallClock: { Self.start }
        )
        self.fakes = fakes
        receiver = BackendDouble(statuses: statuses, then: standard) {
            (fakes.read("") { $1 } ?? Self.start) - Self.start
        }
        dispatcher = WebhookDispatcher(
            fakes: fakes,
            webhookTransport: receiver,
            allowedHosts: allowedHosts
        )
        control = ControlAPI(
            fakes: fakes,
            dispatcher: dispatcher,
            version: "test",
            servers: servers,
            allowedHosts: allowedHosts,
            token: token
        )
    }

    func call(
        _ method: String,
        _ path: String,
        _ body: JSONValue? = nil,
        fields: [HTTPMessage.Field] = [HTTPMessage.Field("host", "127.0.0.1:9300")]
    ) async -> Answer {
        await call(method, path, bytes: body?.bytes ?? [], fields: fields)
    }

    func call(
        _ method: String,
        _ path: String,
        bytes: [UInt8],
        fields: [HTTPMessage.Field] = [HTTPMessage.Field("host", "127.0.0.1:9300")]
    ) async -> Answer {
        let target = path.hasPrefix("!") ? String(path.dropFirst()) : "/assay/v1" + path
        let request = HTTPMessage.Request(method, target, fields: fields, body: bytes)
        switch await control.respond(to: request) {
        case .completeResponse(let response):
            let body = (try? JSONValue(parsing: response.body)) ?? .null
            return Answer(status: response.status, body: body)
        case .lines: return Answer(status: 200, body: "a stream")
        }
    }

    /// What a browser gets.
    func page(_ target: String, fields: [HTTPMessage.Field]) async -> HTTPMessage.Response {
        let host = HTTPMessage.Field("host", "127.0.0.1:9300")
        let own = fields.contains { $0.name == "host" } ? fields : fields + [host]
        switch await control.respond(to: HTTPMessage.Request("GET", target, fields: own)) {
        case .completeResponse(let response): return response
        case .lines: return HTTPMessage.Response(200)
        }
    }

    /// The lines of a stream that ends by itself.
    func lines(_ path: String) async throws -> [JSONValue] {
        let fields = [HTTPMessage.Field("host", "127.0.0.1")]
        let request = HTTPMessage.Request("GET", "/assay/v1" + path, fields: fields)
        guard case .lines(let lines) = await control.respond(to: request) else { return [] }
        var all: [JSONValue] = []
        for await line in lines { all.append(try JSONValue(parsing: line)) }
        return all
    }

    /// What a backend or an app asks of a fake.
    @discardableResult
    func ask(
        _ party: Exchange.Party,
        _ method: String,
        _ path: String,
        _ body: JSONValue? = nil,
        fields: [HTTPMessage.Field] = []
    ) -> Reply {
        let json = [HTTPMessage.Field("content-type", "application/json")]
        let request = HTTPMessage.Request(
            method,
            path,
            fields: fields + (body == nil ? [] : json),
            body: body?.bytes ?? []
        )
        return FakeServer.reply(to: request, party, fakes)
    }

    var saved: JSONValue { (try? fakes.save()) ?? .null }
}

/// An operation, as the API itself describes it.
struct DescribedOperation: CustomStringConvertible {
    let id: String
    let method: String
    let path: String
    let members: [(name: String, schema: JSONValue)]
    /// Names of the query's parameters.
    let parameters: [String]
    /// The words that the path's brace takes; empty: any string.
    let words: [String]

    var takesNamespace: Bool { parameters.contains("namespace") }

    var description: String { "\(method) \(path)" }

    /// The path below `/assay/v1` with something that is there in place of its brace.
    var filled: String {
        let values = [
            "{provider}": "onesignal", "{id}": "main", "{name}": "x", "{event}": "e1",
            "{action}": path.hasPrefix("/device") ? "reinstall" : "purchase",
        ]
        return path.split(separator: "/").map { "/" + (values[String($0)] ?? String($0)) }
            .joined()
    }

    static func all(_ fixture: ControlFixture) async -> [DescribedOperation] {
        let document = await fixture.call("GET", "/openapi.json")
        return (document["paths"]?.object?.members ?? []).flatMap { path in
            (path.value.object?.members ?? []).map { operation in
                let content = operation.value["requestBody"]?["content"]?["application/json"]
                let members = content?["schema"]?["properties"]?.object?.members ?? []
                let parameters = operation.value["parameters"]?.array ?? []
                return DescribedOperation(
                    id: operation.value["operationId"]?.string ?? "",
                    method: operation.key.uppercased(),
                    path: String(path.key.dropFirst("/assay/v1".count)),
                    members: members.map { ($0.key, $0.value) },
                    parameters: parameters.filter { $0["in"] == "query" }
                        .compactMap { $0["name"]?.string },
                    words: parameters.flatMap { $0["schema"]?["oneOf"]?.array ?? [] }
                        .compactMap { $0["const"]?.string }
                )
            }
        }
    }
}
