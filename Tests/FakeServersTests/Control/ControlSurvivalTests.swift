import Contracts
import FakeServers
import Grammar
import TestBackend
import Testing
import Values

@Suite("Control API with nearly valid requests")
struct ControlSurvivalTests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)

    private static let bodies: [JSONValue] = [
        ["user": "ada", "product": "premium_monthly", "settle": true, "grace": "3d"],
        ["by": "31d"], ["until": "settled"], ["now": "2027-01-01T00:00:00Z", "frozen": true],
        ["responses": [500, "slow 2s", "reset"], "permanent": true, "reads": true],
        ["firebase": ["tokens": "unsigned"], "onesignal": ["tagsMax": 5]],
        ["url": "http://127.0.0.1:1/x", "types": ["RENEWAL"], "environment": "SANDBOX"],
        ["event": ["type": "RENEWAL", "app_user_id": "ada", "product_id": "p"]],
        ["ids": ["ada"]], ["to": "fork"], ["days": 3, "price": 1, "entitlements": ["x"]],
        ["namespaces": [:], "kind": "services", "assay": 2],
    ]

    /// Near misses of every operation, from a seed: an answer with words, never a trap, and a
    /// state that can still be used.
    @Test("survives what is nearly right", arguments: 0..<UInt64(8))
    func survives(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed, text: "control")
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Self.start }
        )
        let dispatcher = WebhookDispatcher(fakes: fakes, webhookTransport: BackendDouble())
        let control = ControlAPI(fakes: fakes, dispatcher: dispatcher, version: "test", servers: [])
        func call(_ method: String, _ path: String, _ body: [UInt8]) async -> HTTPMessage.Response {
            let request = HTTPMessage.Request(
                method,
                path,
                fields: [HTTPMessage.Field("host", "127.0.0.1")],
                body: body
            )
            guard case .completeResponse(let response) = await control.respond(to: request) else {
                return HTTPMessage.Response(200, json: [:])
            }
            return response
        }
        let described = await call("GET", "/assay/v1/openapi.json", [])
        let paths = try JSONValue(parsing: described.body)["paths"]?.object?.members ?? []
        #expect(paths.count > 25)
        let names = ["purchase", "cancel", "ada", "main", "onesignal", "reset", "x"]
        for _ in 0..<300 {
            let place = paths.randomElement(using: &generator)
            let method = place?.value.object?.keys.randomElement(using: &generator) ?? "get"
            let name = names.randomElement(using: &generator) ?? "x"
            let path = (place?.key ?? "").split(separator: "/").map {
                $0.hasPrefix("{") ? name : String($0)
            }.joined(separator: "/")
            // A stream never ends by itself, and that is another test's matter.
            guard !path.hasSuffix("stream") else { continue }
            var bytes = (Self.bodies.randomElement(using: &generator) ?? [:]).bytes
            if Bool.random(using: &generator) {
                let index = Int.random(in: bytes.indices, using: &generator)
                bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
            }
            let response = await call(method.uppercased(), "/" + path, bytes)
            #expect(
                response.status < 500,
                "\(method) \(path): \(String(decoding: bytes, as: UTF8.self))"
            )
            let body = try JSONValue(parsing: response.body)
            #expect(response.status == 200 || body["error"]?.string?.isEmpty == false)
        }
        let saved = try fakes.save()
        try fakes.load(saved)
        #expect(try fakes.save() == saved)
    }
}
