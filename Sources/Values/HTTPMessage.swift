/// HTTP requests and responses as values, independent of any networking library.
package enum HTTPMessage {
    package struct Field: Hashable, Codable, Sendable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package struct Request: Hashable, Sendable {
        package var method: String
        /// The target of the request line: the path and query, exactly as they were sent.
        package var target: String
        package var fields: [Field]
        package var body: [UInt8]
        /// The body as JSON; nil when it is not JSON.
        package var bodyJSON: JSONValue? { JSONValue(ifValid: body) }
        /// The body as JSON, when the receiver has already parsed it; otherwise nil.
        package var parsedBody: JSONValue?

        package init(
            _ method: String,
            _ target: String,
            fields: [Field] = [],
            body: [UInt8] = []
        ) {
            self.method = method
            self.target = target
            self.fields = fields
            self.body = body
        }

        /// The path of the request: its target without the query.
        package var path: String {
            target.cut(at: "?")?.before ?? target
        }

        package subscript(field name: String) -> String? { fields.value(of: name) }

        /// Returns the path and query of a URL, as on the request line; a string that is already a
        /// path is returned unchanged.
        ///
        /// Source: RFC 9112, section 3.2.
        package static func target(of url: String) -> String {
            guard !url.hasPrefix("/"), let scheme = url.firstRange(of: "://") else { return url }
            let rest = url[scheme.upperBound...]
            guard let start = rest.firstIndex(where: { "/?#".contains($0) }) else { return "/" }
            let target = rest[start...].prefix { $0 != "#" }
            return target.hasPrefix("/") ? String(target) : "/" + target
        }
    }

    package struct Response: Hashable, Sendable {
        package var status: Int
        package var fields: [Field]
        package var body: [UInt8]
        /// The body as JSON; nil when it is not JSON.
        package var bodyJSON: JSONValue? { JSONValue(ifValid: body) }

        package init(_ status: Int, fields: [Field] = [], body: [UInt8] = []) {
            self.status = status
            self.fields = fields
            self.body = body
        }

        /// Creates a response with a JSON body and the matching content type.
        package init(_ status: Int, json: JSONValue, fields: [Field] = []) {
            self.init(
                status,
                fields: [Field("content-type", "application/json; charset=utf-8")] + fields,
                body: json.bytes
            )
        }

        package subscript(field name: String) -> String? { fields.value(of: name) }
    }
}

extension [HTTPMessage.Field] {
    /// Returns the value of the first header field with that name, ignoring the case of ASCII
    /// letters; nil when there is none.
    package func value(of name: String) -> String? {
        first { $0.name.equalsIgnoringASCIICase(as: name) }?.value
    }
}

extension String {
    /// Whether this string equals `other`, ignoring the case of ASCII letters, as header names are
    /// compared.
    fileprivate func equalsIgnoringASCIICase(as other: String) -> Bool {
        func lowercasedASCII(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        let (ownBytes, otherBytes) = (utf8, other.utf8)
        return ownBytes.count == otherBytes.count
            && zip(ownBytes, otherBytes).allSatisfy { lowercasedASCII($0) == lowercasedASCII($1) }
    }
}

/// The body of a message in a saved run: a string when it is valid UTF-8, otherwise an array of
/// bytes.
private struct BodyText: Codable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A value that is not a string is an array of bytes.
        if let text = try? container.decode(String.self) {
            bytes = Array(text.utf8)
        } else {
            bytes = try container.decode([UInt8].self)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let text = String(validating: bytes, as: UTF8.self) {
            try container.encode(text)
        } else {
            try container.encode(bytes)
        }
    }
}

extension HTTPMessage.Request: Codable {
    private enum CodingKeys: String, CodingKey { case method, target, fields, body }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(String.self, forKey: .method),
            try container.decode(String.self, forKey: .target),
            fields: try container.decode([HTTPMessage.Field].self, forKey: .fields),
            body: try container.decode(BodyText.self, forKey: .body).bytes
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(method, forKey: .method)
        try container.encode(target, forKey: .target)
        try container.encode(fields, forKey: .fields)
        try container.encode(BodyText(body), forKey: .body)
    }
}

extension HTTPMessage.Response: Codable {
    private enum CodingKeys: String, CodingKey { case status, fields, body }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(Int.self, forKey: .status),
            fields: try container.decode([HTTPMessage.Field].self, forKey: .fields),
            body: try container.decode(BodyText.self, forKey: .body).bytes
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(status, forKey: .status)
        try container.encode(fields, forKey: .fields)
        try container.encode(BodyText(body), forKey: .body)
    }
}
