internal import Values

/// A message of the Model Context Protocol that a client sends, as JSON-RPC 2.0 on one line.
///
/// Source: the revision 2026-07-28 of the specification, section "Messages".
enum MCPMessage {
    /// A request, which gets one response.
    ///
    /// - Parameter id: A string or an integer.
    case request(id: JSONValue, method: String, params: JSONObject)
    /// A message without an ID, which gets no response.
    case notification(method: String, params: JSONObject)
    /// A response, which this server ignores, because it sends no requests.
    case response

    /// Parses a line from the client.
    ///
    /// - Throws: `MCPError` for a line that is not a message of the protocol. The error contains
    ///   the ID of the request if the line has one.
    init(parsing line: [UInt8]) throws(MCPError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: line)
        } catch {
            throw MCPError(.parseError, "the line is not JSON: \(error)")
        }
        guard let object = value.object else {
            throw MCPError(.invalidRequest, "a message is one JSON object, not \(value.kind)")
        }
        guard let id = object["id"] else {
            self = try Self.notification(object)
            return
        }
        guard Self.isID(id) else {
            throw MCPError(.invalidRequest, "the id is \(id.kind), not a string or an integer")
        }
        do throws(MCPError) {
            self = try Self.request(id, object)
        } catch {
            throw error.withID(id)
        }
    }

    private static func request(_ id: JSONValue, _ object: JSONObject) throws(MCPError) -> Self {
        guard object["jsonrpc"] == "2.0" else {
            throw MCPError(.invalidRequest, "'jsonrpc' must be \"2.0\"")
        }
        if object["method"] == nil, object["result"] != nil || object["error"] != nil {
            return .response
        }
        guard let method = object["method"]?.string else {
            throw MCPError(.invalidRequest, "'method' is missing or not a string")
        }
        guard let params = (object["params"] ?? [:]).object else {
            throw MCPError(.invalidParams, "'params' is not an object")
        }
        return .request(id: id, method: method, params: params)
    }

    private static func notification(_ object: JSONObject) throws(MCPError) -> Self {
        guard object["jsonrpc"] == "2.0", let method = object["method"]?.string else {
            throw MCPError(.invalidRequest, "a message needs 'jsonrpc': \"2.0\" and a 'method'")
        }
        // A notification never gets an error response, so malformed parameters count as none.
        return .notification(method: method, params: object["params"]?.object ?? [:])
    }

    private static func isID(_ value: JSONValue) -> Bool {
        value.string != nil || value.int64 != nil
    }
}

/// An error response of the Model Context Protocol.
struct MCPError: Error {
    /// The error codes of JSON-RPC 2.0 and of the protocol.
    enum Code: Int64 {
        case parseError = -32700
        case invalidRequest = -32600
        case methodNotFound = -32601
        case invalidParams = -32602
        case internalError = -32603
        case unsupportedProtocolVersion = -32022
    }

    /// The ID of the request; nil when the line has no readable ID.
    private(set) var id: JSONValue?
    let code: Code
    let reason: String
    let data: JSONValue?

    init(_ code: Code, _ reason: String, data: JSONValue? = nil) {
        (self.code, self.reason, self.data) = (code, reason, data)
    }

    func withID(_ id: JSONValue) -> MCPError {
        var copy = self
        copy.id = id
        return copy
    }

    /// The error as a message for the client.
    var message: JSONValue {
        var error: JSONObject = ["code": .integer(code.rawValue), "message": .string(reason)]
        error["data"] = data
        var message: JSONObject = ["jsonrpc": "2.0"]
        message["id"] = id
        message["error"] = .object(error)
        return .object(message)
    }
}
