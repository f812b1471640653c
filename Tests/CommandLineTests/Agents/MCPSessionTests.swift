import TestSupport
import Testing
import Values

@testable import AssayCLI

/// The protocol state of `assay mcp`, with generated messages of clients that make mistakes.
@Suite("Messages of the Model Context Protocol")
struct MCPSessionTests {
    private static let stateless: JSONValue = [
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": [:],
    ]

    private static func session() -> MCPSession {
        MCPSession(tools: MCPTool.all, instructions: "Run doctor.")
    }

    private static func request(
        _ method: String,
        id: JSONValue = 1,
        _ params: JSONObject = ["_meta": stateless]
    ) -> JSONValue {
        ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": .object(params)]
    }

    private static func call(_ id: JSONValue, meta: JSONValue = stateless) -> JSONValue {
        request(
            "tools/call",
            id: id,
            ["name": "explain", "arguments": ["subject": "S-03"], "_meta": meta]
        )
    }

    private static func cancellation(_ id: JSONValue) -> JSONValue {
        [
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": ["requestId": id],
        ]
    }

    private static func sent(_ steps: [MCPSession.Step]) -> [JSONValue] {
        steps.compactMap { if case .send(let message) = $0 { message } else { nil } }
    }

    private static func started(_ steps: [MCPSession.Step]) -> [MCPSession.Call] {
        steps.compactMap { if case .start(let call) = $0 { call } else { nil } }
    }

    // MARK: Generated messages

    /// Valid messages, which a test then damages.
    private static let messages: [JSONValue] = [
        request("initialize", ["protocolVersion": "2025-11-25", "capabilities": [:]]),
        request("ping", [:]), request("server/discover"), request("tools/list"),
        request("subscriptions/listen", ["notifications": [:], "_meta": stateless]), call("one"),
        cancellation("one"), ["jsonrpc": "2.0", "method": "notifications/initialized"],
        ["jsonrpc": "2.0", "id": 4, "result": [:]],
    ]

    private static func damaged(
        _ value: JSONValue,
        _ arbitrary: inout ArbitraryValues
    ) -> JSONValue {
        guard var object = value.object, !object.keys.isEmpty else { return arbitrary.json() }
        let key = arbitrary.one(of: object.keys)
        switch arbitrary.int(0...3) {
        case 0: object[key] = nil
        case 1: object[key] = arbitrary.json()
        case 2: object[arbitrary.text()] = arbitrary.json()
        default: object[key] = damaged(object[key] ?? .null, &arbitrary)
        }
        return .object(object)
    }

    private static func damagedLine(_ arbitrary: inout ArbitraryValues) -> [UInt8] {
        var message = arbitrary.one(of: messages)
        for _ in 0..<arbitrary.int(0...2) { message = damaged(message, &arbitrary) }
        var bytes = message.bytes
        switch arbitrary.int(0...5) {
        case 0 where !bytes.isEmpty: bytes.removeLast(arbitrary.int(1...bytes.count))
        case 1 where !bytes.isEmpty:
            bytes[arbitrary.int(0...(bytes.count - 1))] = UInt8(arbitrary.int(0...255))
        case 2: bytes += arbitrary.bytes(8)
        default: break
        }
        return bytes
    }

    @Test(arguments: 0..<40)
    func `every line gets at most one response and never ends the session`(seed: UInt64) throws {
        var arbitrary = ArbitraryValues(seed: seed)
        var session = Self.session()
        for _ in 0..<200 {
            let line = Self.damagedLine(&arbitrary)
            let steps = session.steps(for: line)
            let id = JSONValue(ifValid: line)?["id"]
            var responseCount = 0
            for message in Self.sent(steps) {
                #expect(message["jsonrpc"] == "2.0")
                #expect(!message.bytes.contains(0x0a))
                guard message["method"] == nil else { continue }
                responseCount += 1
                #expect((message["result"] == nil) != (message["error"] == nil))
                if let responseID = message["id"] { #expect(responseID == id) }
            }
            #expect(responseCount + Self.started(steps).count <= 1)
            for call in Self.started(steps) where arbitrary.bool() {
                let output = ToolOutput(output: "text", messages: [], status: 0)
                #expect(session.response(to: call, output)?["id"] == call.id)
            }
        }
        // The session still works, whatever happened before.
        let response = try #require(
            Self.sent(session.steps(for: Self.request("server/discover", id: "last").bytes)).first
        )
        #expect(response["result"]?["supportedVersions"]?.array?.first == "2026-07-28")
    }

    @Test(
        "a malformed message gets an error with its ID, if that can be read",
        arguments: [
            ("", -32700, nil), ("{\"id\": 1", -32700, nil), ("[]", -32600, nil),
            ("\"text\"", -32600, nil), ("{}", -32600, nil),
            (#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, -32600, nil),
            (#"{"jsonrpc": "2.0", "id": [1], "method": "ping"}"#, -32600, nil),
            (#"{"jsonrpc": "2.0", "id": 0.5, "method": "ping"}"#, -32600, nil),
            (#"{"id": 1, "method": "ping"}"#, -32600, 1),
            (#"{"jsonrpc": "2.0", "id": 1, "method": 7}"#, -32600, 1),
            (#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 7}"#, -32602, 1),
            (#"{"jsonrpc": "2.0", "id": "a", "method": "prompts/list"}"#, -32601, "a"),
            (#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#, -32602, 1),
            (#"{"jsonrpc": "2.0", "id": 1, "method": "initialize"}"#, -32602, 1),
        ] as [(String, Int64, JSONValue?)]
    )
    func malformed(line: String, code: Int64, id: JSONValue?) {
        var session = Self.session()
        let messages = Self.sent(session.steps(for: Array(line.utf8)))
        #expect(messages.count == 1)
        #expect(messages.first?["error"]?["code"]?.int64 == code)
        #expect(messages.first?["id"] == id)
    }

    // MARK: Versions

    @Test(
        "the version of a handshake is the newest one that the client can know",
        arguments: [
            ("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"),
            ("2025-03-26", "2024-11-05"), ("2024-11-05", "2024-11-05"),
            ("2026-07-28", "2025-11-25"), ("2099-01-01", "2025-11-25"),
            ("2024-01-01", "2025-11-25"), ("", "2025-11-25"),
        ]
    )
    func handshake(requested: String, agreed: String) throws {
        var session = Self.session()
        let line = Self.request("initialize", ["protocolVersion": .string(requested)]).bytes
        let response = try #require(Self.sent(session.steps(for: line)).first)
        #expect(response["result"]?["protocolVersion"] == .string(agreed))
        #expect(response["result"]?["resultType"] == nil)
        let list = Self.sent(session.steps(for: Self.request("tools/list", id: 2, [:]).bytes))
        #expect(list.first?["result"]?["tools"]?.array?.count == MCPTool.all.count)
        #expect(list.first?["result"]?["ttlMs"] == nil)
    }

    @Test func `a stateless request needs no handshake, and its result names the server`() throws {
        var session = Self.session()
        let line = Self.request("tools/list").bytes
        let result = try #require(Self.sent(session.steps(for: line)).first?["result"])
        #expect(result["resultType"] == "complete")
        #expect(result["cacheScope"] == "public")
        let server = result["_meta"]?["io.modelcontextprotocol/serverInfo"]
        #expect(server?["name"] == "assay")
        // The methods of the handshake do not exist in this revision.
        for method in ["ping", "initialize"] {
            let steps = session.steps(for: Self.request(method).bytes)
            #expect(Self.sent(steps).first?["error"]?["code"]?.int64 == -32601)
        }
    }

    @Test func `a subscription is acknowledged and ended`() {
        var session = Self.session()
        let messages = Self.sent(session.steps(for: Self.request("subscriptions/listen").bytes))
        #expect(messages.count == 2)
        #expect(messages[0]["params"]?["notifications"] == [:])
        for part in [messages[0]["params"], messages[1]["result"]] {
            #expect(part?["_meta"]?["io.modelcontextprotocol/subscriptionId"] == 1)
        }
    }

    // MARK: Calls

    @Test func `a canceled call gets no response, and its ID can be used again`() throws {
        var session = Self.session()
        let first = try #require(Self.started(session.steps(for: Self.call("a").bytes)).first)
        // A second request with the same ID while the first one runs is an error.
        let duplicate = Self.sent(session.steps(for: Self.call("a").bytes)).first
        #expect(duplicate?["error"]?["code"]?.int64 == -32600)
        guard case .cancel(first.number) = session.steps(for: Self.cancellation("a").bytes).first
        else {
            Issue.record("the call was not canceled")
            return
        }
        #expect(session.steps(for: Self.cancellation("a").bytes).isEmpty)
        let second = try #require(Self.started(session.steps(for: Self.call("a").bytes)).first)
        let output = ToolOutput(output: "late", messages: [], status: 0)
        #expect(session.response(to: first, output) == nil)
        #expect(session.response(to: second, output)?["id"] == "a")
        #expect(session.response(to: second, output) == nil)
    }

    @Test func `the number of calls is limited`() {
        var session = Self.session()
        for number in 1...MCPSession.callCountMax {
            let steps = session.steps(for: Self.call(.integer(Int64(number))).bytes)
            #expect(Self.started(steps).count == 1)
        }
        let steps = session.steps(for: Self.call("more").bytes)
        #expect(Self.sent(steps).first?["error"]?["code"]?.int64 == -32603)
    }

    @Test(arguments: ["null", "0.5", "true", "{}", "[1]"])
    func `a progress token is a string or an integer`(token: String) throws {
        var session = Self.session()
        var meta = Self.stateless.object ?? [:]
        meta["progressToken"] = try JSONValue(parsing: token)
        let steps = session.steps(for: Self.call(1, meta: .object(meta)).bytes)
        #expect(Self.sent(steps).first?["error"]?["code"]?.int64 == -32602)
    }

    @Test func `progress only grows, and other lines are not progress`() {
        var progress = ToolProgress(token: "t")
        let lines = [
            "assay: waiting for the backend, 5 s", "assay: 2/9  1 failed  running: billing/refund",
            "assay: 2/9", "assay: 1/9", "backend: 8/9", "assay: 9/9", "",
        ]
        let notifications = lines.compactMap { progress.notification(for: $0)?["params"] }
        #expect(notifications.map { $0["progress"] } == [2, 9])
        #expect(notifications.map { $0["total"] } == [9, 9])
        #expect(notifications.first?["message"] == "2/9  1 failed  running: billing/refund")
        #expect(notifications.allSatisfy { $0["progressToken"] == "t" })
    }
}
