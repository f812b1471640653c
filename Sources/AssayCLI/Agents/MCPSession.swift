internal import Values

/// The protocol state of one client of `assay mcp`: pure, without input or output.
///
/// A request with the protocol version in `_meta` follows the stateless revision 2026-07-28. Any
/// other request follows an earlier revision, and needs an `initialize` request before it.
struct MCPSession {
    /// A reaction to a line from the client.
    enum Step {
        case send(JSONValue)
        case start(Call)
        /// Ends the call with the number; no response is sent for it.
        case cancel(number: Int)
    }

    /// A valid request to run a tool.
    struct Call {
        /// The number of the call; a client may use the ID of a finished call again.
        let number: Int
        let id: JSONValue
        let tool: MCPTool
        let arguments: JSONObject
        let progressToken: JSONValue?
        /// Whether the request follows the revision 2026-07-28.
        let isStateless: Bool
    }

    /// The revision in which every request contains its version.
    static let statelessVersion = "2026-07-28"
    /// The revisions with an `initialize` request that the server supports, newest first.
    ///
    /// The revision 2025-03-26 is missing, because it requires batches of messages.
    static let handshakeVersions = ["2025-11-25", "2025-06-18", "2024-11-05"]
    /// The largest number of tool calls that run or wait at the same time.
    static let callCountMax = 16
    /// The time during which a client may reuse the list of tools: one hour in milliseconds.
    ///
    /// The list never changes while the server runs.
    private static let listLifetime: Int64 = 3_600_000
    private static let metaPrefix = "io.modelcontextprotocol/"

    private let tools: [MCPTool]
    private let instructions: String
    private var isInitialized = false
    /// The numbers of the calls that have no response yet, by the IDs of their requests.
    private var runningCalls: [JSONValue: Int] = [:]
    private var callCount = 0

    init(tools: [MCPTool], instructions: String) {
        (self.tools, self.instructions) = (tools, instructions)
    }

    // MARK: Input

    /// Returns the reactions to a line from the client.
    mutating func steps(for line: [UInt8]) -> [Step] {
        do throws(MCPError) {
            switch try MCPMessage(parsing: line) {
            case .request(let id, let method, let params):
                do throws(MCPError) {
                    return try steps(Request(id, method, params))
                } catch {
                    return [.send(error.withID(id).message)]
                }
            case .notification("notifications/cancelled", let params):
                guard let id = params["requestId"],
                    let number = runningCalls.removeValue(forKey: id)
                else { return [] }
                return [.cancel(number: number)]
            case .notification, .response: return []
            }
        } catch {
            return [.send(error.message)]
        }
    }

    /// Returns the response with the output of a finished call; nil when the client has canceled
    /// the call.
    mutating func response(to call: Call, _ output: ToolOutput) -> JSONValue? {
        guard runningCalls[call.id] == call.number else { return nil }
        runningCalls[call.id] = nil
        let content: JSONObject = ["type": "text", "text": .string(output.text)]
        return Self.response(
            to: call.id,
            ["content": [.object(content)], "isError": .bool(output.isError)],
            isStateless: call.isStateless
        )
    }

    // MARK: Requests

    /// A request with the revision that it follows.
    private struct Request {
        let id: JSONValue
        let method: String
        let params: JSONObject
        let isStateless: Bool

        init(_ id: JSONValue, _ method: String, _ params: JSONObject) throws(MCPError) {
            (self.id, self.method, self.params) = (id, method, params)
            guard let meta = (params["_meta"] ?? [:]).object else {
                throw MCPError(.invalidParams, "'_meta' is not an object")
            }
            let versionKey = metaPrefix + "protocolVersion"
            guard let version = meta[versionKey] else {
                isStateless = false
                return
            }
            guard let version = version.string else {
                throw MCPError(.invalidParams, "'\(versionKey)' is not a string")
            }
            guard version == statelessVersion else {
                throw MCPError(
                    .unsupportedProtocolVersion,
                    "unsupported protocol version",
                    data: [
                        "supported": .strings([statelessVersion] + handshakeVersions),
                        "requested": .string(version),
                    ]
                )
            }
            let capabilitiesKey = metaPrefix + "clientCapabilities"
            guard meta[capabilitiesKey]?.object != nil else {
                throw MCPError(.invalidParams, "'_meta' needs '\(capabilitiesKey)', an object")
            }
            isStateless = true
        }
    }

    private mutating func steps(_ request: Request) throws(MCPError) -> [Step] {
        guard runningCalls[request.id] == nil else {
            throw MCPError(.invalidRequest, "a running request has the same id")
        }
        switch (request.method, request.isStateless) {
        case ("initialize", false): return [.send(try initialize(request))]
        case ("ping", false): return [.send(respond(request, [:]))]
        case ("server/discover", true): return [.send(discover(request))]
        case ("subscriptions/listen", true): return subscription(request)
        case ("tools/list", _), ("tools/call", _):
            guard request.isStateless || isInitialized else {
                throw MCPError(
                    .invalidParams,
                    "send 'initialize' first, or '\(Self.metaPrefix)protocolVersion' in '_meta'"
                )
            }
            return request.method == "tools/list"
                ? [.send(try toolList(request))] : [.start(try call(request))]
        default:
            throw MCPError(.methodNotFound, "there is no method '\(request.method)'")
        }
    }

    private mutating func initialize(_ request: Request) throws(MCPError) -> JSONValue {
        guard let requested = request.params["protocolVersion"]?.string else {
            throw MCPError(.invalidParams, "'protocolVersion' is missing or not a string")
        }
        isInitialized = true
        return respond(
            request,
            [
                "protocolVersion": .string(Self.handshakeVersion(for: requested)),
                "capabilities": ["tools": [:]],
                "serverInfo": Self.serverInfo,
                "instructions": .string(instructions),
            ]
        )
    }

    /// Returns the version for the response to `initialize`: the newest supported one that is not
    /// newer than the requested version, else the newest one.
    ///
    /// A client usually supports the versions before its own. Versions are dates, so their order is
    /// that of their text.
    static func handshakeVersion(for requested: String) -> String {
        handshakeVersions.first { $0 <= requested } ?? handshakeVersions[0]
    }

    private func discover(_ request: Request) -> JSONValue {
        respond(
            request,
            Self.cacheable([
                "supportedVersions": .strings([Self.statelessVersion] + Self.handshakeVersions),
                "capabilities": ["tools": [:]],
                "instructions": .string(instructions),
            ])
        )
    }

    /// Acknowledges a subscription and ends it, because the server has no notifications to offer.
    private func subscription(_ request: Request) -> [Step] {
        let meta: JSONValue = [Self.metaPrefix + "subscriptionId": request.id]
        let acknowledgment = Self.notification(
            "notifications/subscriptions/acknowledged",
            ["_meta": meta, "notifications": [:]]
        )
        return [.send(acknowledgment), .send(respond(request, ["_meta": meta]))]
    }

    private func toolList(_ request: Request) throws(MCPError) -> JSONValue {
        guard request.params["cursor"] == nil else {
            throw MCPError(.invalidParams, "there is no such cursor; the list has one page")
        }
        let list: JSONObject = ["tools": .array(tools.map(\.description))]
        return respond(request, request.isStateless ? Self.cacheable(list) : list)
    }

    private mutating func call(_ request: Request) throws(MCPError) -> Call {
        guard let name = request.params["name"]?.string else {
            throw MCPError(.invalidParams, "'name' is missing or not a string")
        }
        guard let tool = tools.first(where: { $0.name == name }) else {
            let names = tools.map(\.name).joined(separator: ", ")
            throw MCPError(.invalidParams, "unknown tool '\(name)'; the tools are \(names)")
        }
        guard let arguments = (request.params["arguments"] ?? [:]).object else {
            throw MCPError(.invalidParams, "'arguments' is not an object")
        }
        let token = request.params["_meta"]?["progressToken"]
        guard token == nil || token?.string != nil || token?.int64 != nil else {
            throw MCPError(.invalidParams, "'progressToken' is not a string or an integer")
        }
        guard runningCalls.count < Self.callCountMax else {
            throw MCPError(.internalError, "\(Self.callCountMax) calls are running or waiting")
        }
        callCount += 1
        runningCalls[request.id] = callCount
        return Call(
            number: callCount,
            id: request.id,
            tool: tool,
            arguments: arguments,
            progressToken: token,
            isStateless: request.isStateless
        )
    }

    // MARK: Output

    private static let serverInfo: JSONValue = [
        "name": "assay", "title": "Assay", "version": .string(assayVersion),
    ]

    private static func cacheable(_ result: JSONObject) -> JSONObject {
        var result = result
        result["ttlMs"] = .integer(listLifetime)
        result["cacheScope"] = "public"
        return result
    }

    private func respond(_ request: Request, _ result: JSONObject) -> JSONValue {
        Self.response(to: request.id, result, isStateless: request.isStateless)
    }

    private static func response(
        to id: JSONValue,
        _ result: JSONObject,
        isStateless: Bool
    ) -> JSONValue {
        var result = result
        if isStateless {
            var meta = result["_meta"]?.object ?? [:]
            meta[metaPrefix + "serverInfo"] = serverInfo
            result["_meta"] = .object(meta)
            result["resultType"] = "complete"
        }
        return ["jsonrpc": "2.0", "id": id, "result": .object(result)]
    }

    static func notification(_ method: String, _ params: JSONObject) -> JSONValue {
        ["jsonrpc": "2.0", "method": .string(method), "params": .object(params)]
    }
}
