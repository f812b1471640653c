package import Values

extension HTTPMessage.Request {
    /// The name–value pairs of the query string in their order, decoded.
    ///
    /// A `+` is decoded as a space.
    package var query: [(name: String, value: String)] {
        guard let questionMarkIndex = target.firstIndex(of: "?") else { return [] }
        let text = target[target.index(after: questionMarkIndex)...].prefix { $0 != "#" }
        return FormText.pairs(text)
    }

    package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Whether a web page of another origin sent the request, according to the headers that
    /// browsers add (Fetch Metadata, RFC 6454).
    ///
    /// A page from another port of this machine counts as a page of another origin.
    package var isFromForeignPage: Bool {
        if let site = self[field: "sec-fetch-site"]?.lowercased(),
            !["same-origin", "none"].contains(site)
        {
            return true
        }
        guard let origin = self[field: "origin"]?.lowercased() else { return false }
        let host = self[field: "host"]?.lowercased() ?? ""
        return !["http://" + host, "https://" + host].contains(origin)
    }

    /// The name–value pairs of a request body that is an HTML form, decoded.
    package var form: [(name: String, value: String)] {
        FormText.pairs(String(decoding: body, as: UTF8.self))
    }

    package var hasFormBody: Bool {
        self[field: "content-type"]?.lowercased().hasPrefix("application/x-www-form-urlencoded")
            ?? false
    }

    /// Returns the request body as JSON; nil when the body is empty.
    ///
    /// The last one of duplicate keys counts, as in the parsers of the imitated services.
    package func json(depthMax: Int = 64) throws(JSONError) -> JSONValue? {
        if let parsedBody { return parsedBody }
        guard body.contains(where: { $0 > 0x20 }) else { return nil }
        return try JSONValue(
            parsing: body,
            options: .init(depthMax: depthMax, duplicateKeys: .keepLast)
        )
    }

    /// Parses the request body ahead of time if it is a JSON object.
    ///
    /// It is then not parsed later, while a lock is held.
    package mutating func readBody() {
        // A body that is not JSON stays unparsed. The later call of `json` reports the error.
        if body.first == UInt8(ascii: "{") { parsedBody = try? json() }
    }

    /// Returns the request body as a JSON object, which is empty when the body is missing.
    ///
    /// For any other body the object is nil, and `problem` contains the reason.
    package func jsonObject(depthMax: Int = 64) -> (object: JSONObject?, problem: String) {
        do throws(JSONError) {
            guard let value = try json(depthMax: depthMax) else { return (JSONObject(), "") }
            guard let object = value.object else { return (nil, "found \(value.kind)") }
            return (object, "")
        } catch {
            return (nil, error.description)
        }
    }

    /// The scheme of the `Authorization` header in lower case, and its credential.
    ///
    /// Nil unless the header's value has two words.
    package var authorization: (scheme: String, credential: String)? {
        guard let value = self[field: "authorization"] else { return nil }
        let authorizationParts = value.split(
            separator: " ",
            maxSplits: 1,
            omittingEmptySubsequences: true
        )
        guard authorizationParts.count == 2 else { return nil }
        return (authorizationParts[0].lowercased(), String(authorizationParts[1]))
    }
}

extension JSONValue {
    /// The value of a string, or the digits of a number; nil for any other JSON value.
    ///
    /// The imitated services accept a number in place of a string, and a string in place of a
    /// number.
    var scalarText: String? {
        switch self {
        case .string(let text): text
        case .number(let number): number.description
        case .null, .bool, .array, .object: nil
        }
    }
}
