internal import Values

/// Reads the flows that mitmproxy saves (`mitmdump -w`): a sequence of values in its binary format.
extension ImportReader {
    mutating func readFlows(_ bytes: [UInt8]) throws(RecordingError) {
        var values: [FlowValue] = []
        var reader = FlowReader(bytes: bytes)
        while !reader.isAtEnd { values.append(try reader.value(depth: 0)) }
        let requests = values.map { value in
            let host = value["request"]?["host"]?.text ?? ""
            let port = value["request"]?["port"]?.int.map { ":\($0)" } ?? ""
            return JSONValue.object(
                ["request": ["url": .string("http://\(host)\(port)/"), "method": "POST"]]
            )
        }
        let entryFilter = HAREntryFilter(requests, hosts: context.hosts)
        notes += entryFilter.notes
        for (index, value) in values.enumerated() {
            let location = "flow \(index + 1)"
            guard value["type"]?.text == "http", let request = value["request"] else {
                notes.append("\(location) is not HTTP and is left out")
                continue
            }
            if entryFilter.excludedIndices.contains(index) { continue }
            if value["websocket"]?.isNull == false {
                notes.append(
                    "\(location) is a WebSocket and is left out: only requests are imported"
                )
                continue
            }
            entry(index) { reader throws(RecordingError) in
                try reader.add(flow: value, request, location)
            }
        }
    }

    private mutating func add(
        flow: FlowValue,
        _ request: FlowValue,
        _ location: String
    ) throws(RecordingError) {
        guard let method = request["method"]?.text, Self.isMethod(method),
            let path = request["path"]?.text, path.hasPrefix("/")
        else {
            throw makeError(1, "\(location) has no method or no path", "Save the flows again.")
        }
        let startSeconds = request["timestamp_start"]?.double ?? 0
        let end = flow["response"]?["timestamp_end"]?.double ?? startSeconds
        let sentRequest = HTTPMessage.Request(
            method,
            path,
            fields: Self.fields(request),
            body: try body(request, location)
        )
        try add(
            sentRequest,
            try recordedResponse(flow, location),
            at: startSeconds > 0
                ? Instant(milliseconds: Int64(clamping: startSeconds * 1000)) : nil,
            microseconds: Int64(clamping: (end - startSeconds) * 1_000_000)
        )
    }

    private mutating func recordedResponse(
        _ flow: FlowValue,
        _ location: String
    ) throws(RecordingError) -> RecordedResponse? {
        guard let response = flow["response"], !response.isNull else { return nil }
        guard let number = response["status_code"]?.int else {
            throw makeError(
                1,
                "\(location) has a response without a status",
                "Save the flows again."
            )
        }
        let status = try status(.integer(Int64(number)), "\(location)'s status_code")
        return RecordedResponse(
            status,
            fields: Self.fields(response),
            body: try body(response, location)
        )
    }

    /// Returns the header fields of a message without those that describe the encoding of the body,
    /// because the import decodes the body.
    private static func fields(_ message: FlowValue) -> [HTTPMessage.Field] {
        let encodingFieldNames = ["content-encoding", "content-length", "transfer-encoding"]
        return message["headers"]?.list.compactMap { pair in
            guard let name = pair.list.first?.text, let value = pair.list.last?.text,
                pair.list.count == 2, !name.hasPrefix(":"),
                !encodingFieldNames.contains(name.lowercased())
            else { return nil }
            return HTTPMessage.Field(name, value)
        } ?? []
    }

    private mutating func body(
        _ message: FlowValue,
        _ location: String
    ) throws(RecordingError) -> [UInt8] {
        let encoding = message["headers"]?.list.first {
            $0.list.first?.text?.lowercased() == "content-encoding"
        }?.list.last?.text
        return try decompressed(message["content"]?.bytes ?? [], encoding: encoding, location)
    }
}

extension Int64 {
    /// Truncates a number to an integer between 0 and 9e15; a number that is not finite becomes 0.
    fileprivate init(clamping value: Double) {
        self = value.isFinite ? Int64(Swift.min(Swift.max(value, 0), 9e15)) : 0
    }
}

/// A value in a flow file of mitmproxy: `LENGTH:PAYLOAD` and a character that marks the type.
private enum FlowValue {
    case bytes([UInt8])
    case text(String)
    case int(Int)
    case double(Double)
    case bool(Bool)
    case null
    case list([FlowValue])
    case members([(String, FlowValue)])

    subscript(key: String) -> FlowValue? {
        guard case .members(let members) = self else { return nil }
        return members.last { $0.0 == key }?.1
    }

    var isNull: Bool { if case .null = self { true } else { false } }

    var text: String? {
        switch self {
        case .text(let text): text
        case .bytes(let bytes): String(validating: bytes, as: UTF8.self)
        case .int, .double, .bool, .null, .list, .members: nil
        }
    }

    var bytes: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .text(let text): Array(text.utf8)
        case .int, .double, .bool, .null, .list, .members: nil
        }
    }

    var int: Int? { if case .int(let value) = self { value } else { nil } }

    var double: Double? {
        switch self {
        case .double(let value): value
        case .int(let value): Double(value)
        case .bytes, .text, .bool, .null, .list, .members: nil
        }
    }

    var list: [FlowValue] { if case .list(let values) = self { values } else { [] } }
}

/// Reads values of the form `LENGTH:PAYLOAD` followed by a type marker: `,` bytes, `;` text, `#`
/// integer, `^` floating-point number, `!` Boolean, `~` null, `]` list, `}` dictionary.
private struct FlowReader {
    private static let depthMax = 32
    private static let remedy = "Save the flows again with 'mitmdump -w FILE'."

    let bytes: [UInt8]
    private var index: Int
    private let end: Int

    init(bytes: [UInt8]) { self.init(bytes: bytes, range: bytes.startIndex..<bytes.endIndex) }

    private init(bytes: [UInt8], range: Range<Int>) {
        self.bytes = bytes
        index = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { index >= end }

    private func makeError(_ problem: String) -> RecordingError {
        RecordingError(line: 1, problem: "byte \(index): \(problem)", remedy: Self.remedy)
    }

    mutating func value(depth: Int) throws(RecordingError) -> FlowValue {
        guard depth < Self.depthMax else { throw makeError("the value is nested too deeply") }
        var payloadLength = 0
        var digitCount = 0
        while index < end, (48...57).contains(bytes[index]), digitCount < 12 {
            payloadLength = payloadLength * 10 + Int(bytes[index]) - 48
            (index, digitCount) = (index + 1, digitCount + 1)
        }
        guard digitCount > 0, index < end, bytes[index] == UInt8(ascii: ":") else {
            throw makeError("the length of a value is missing")
        }
        index += 1
        guard payloadLength < end - index else { throw makeError("the file ends within a value") }
        let payloadRange = index..<(index + payloadLength)
        index = payloadRange.upperBound + 1
        let text = String(decoding: bytes[payloadRange], as: UTF8.self)
        switch bytes[payloadRange.upperBound] {
        case UInt8(ascii: ","): return .bytes(Array(bytes[payloadRange]))
        case UInt8(ascii: ";"): return .text(text)
        case UInt8(ascii: "~"): return .null
        case UInt8(ascii: "!"): return .bool(text == "true")
        case UInt8(ascii: "#"):
            guard let number = Int(text) else {
                throw makeError("'\(text.prefix(20))' is not a number")
            }
            return .int(number)
        case UInt8(ascii: "^"):
            guard let number = Double(text) else {
                throw makeError("'\(text.prefix(20))' is not a number")
            }
            return .double(number)
        case UInt8(ascii: "]"): return .list(try values(payloadRange, depth))
        case UInt8(ascii: "}"):
            let keysAndValues = try values(payloadRange, depth)
            guard keysAndValues.count % 2 == 0 else {
                throw makeError("a dictionary has a key without a value")
            }
            return .members(
                stride(from: 0, to: keysAndValues.count, by: 2).map {
                    (keysAndValues[$0].text ?? "", keysAndValues[$0 + 1])
                }
            )
        default: throw makeError("the value has an unknown type marker")
        }
    }

    private func values(_ range: Range<Int>, _ depth: Int) throws(RecordingError) -> [FlowValue] {
        var innerReader = FlowReader(bytes: bytes, range: range)
        var parsedValues: [FlowValue] = []
        while !innerReader.isAtEnd { parsedValues.append(try innerReader.value(depth: depth + 1)) }
        return parsedValues
    }
}
