internal import Providers
internal import Values

/// Reads a Postman collection of format 2.0 or 2.1: its requests and their saved responses.
extension ImportReader {
    mutating func postman(_ file: JSONValue) throws(RecordingError) {
        let schemaURL = file["info"]?["schema"]?.string ?? ""
        guard schemaURL.contains("/collection/v2.") else {
            throw makeError(
                1,
                "/info/schema is '\(schemaURL.prefix(80))'; only collections of format 2 are supported",
                "Export the collection from Postman as v2.1."
            )
        }
        guard let items = file["item"]?.array else {
            throw makeError(1, "the collection has no /item", "Export the collection again.")
        }
        var collection = PostmanCollection(reader: self, variables: file["variable"])
        collection.read(items, "/item", auth: file["auth"])
        self = collection.reader
    }
}

/// A Postman collection that is being read.
private struct PostmanCollection {
    var reader: ImportReader
    /// The values of the collection's variables, by name.
    private let variables: [String: String]
    /// The status of the saved response that was imported for each request, so that no request gets
    /// two responses.
    private var statusByRequest: [HTTPMessage.Request: Int] = [:]
    /// The number of requests and saved responses that have been read from the collection.
    private var entryCount = 0

    init(reader: ImportReader, variables: JSONValue?) {
        self.reader = reader
        self.variables = Self.pairs(variables)
    }

    /// Reads the items of a folder of the collection, which are requests and other folders.
    mutating func read(
        _ items: [JSONValue],
        _ location: String,
        auth: JSONValue?
    ) {
        for (index, item) in items.enumerated() {
            let location = "\(location)/\(index)"
            if let childItems = item["item"]?.array {
                read(childItems, location + "/item", auth: item["auth"] ?? auth)
                continue
            }
            let request = item["request"]
            let savedResponses = item["response"]?.array ?? []
            guard let request, !savedResponses.isEmpty else {
                entry { collection throws(RecordingError) in
                    guard let request else {
                        throw collection.reader.makeError(
                            1,
                            "\(location) has no request",
                            "Export the collection again."
                        )
                    }
                    let convertedRequest = try collection.request(request, location, auth)
                    try collection.reader.add(convertedRequest, nil, at: nil)
                }
                continue
            }
            for (number, response) in savedResponses.enumerated() {
                let location = "\(location)/response/\(number)"
                entry { collection throws(RecordingError) in
                    let originalRequest = response["originalRequest"] ?? request
                    let convertedRequest = try collection.request(originalRequest, location, auth)
                    try collection.add(convertedRequest, response, location)
                }
            }
        }
    }

    /// Reads one request or saved response, or leaves it out with a note.
    private mutating func entry(
        _ read: (inout PostmanCollection) throws(RecordingError) -> Void
    ) {
        var entryError: RecordingError?
        do throws(RecordingError) {
            try read(&self)
        } catch {
            entryError = error
        }
        reader.entry(entryCount) { _ throws(RecordingError) in
            if let entryError { throw entryError }
        }
        entryCount += 1
    }

    /// Adds a request with a saved response.
    ///
    /// Saved responses to the same request are alternatives, so only the first one is imported.
    private mutating func add(
        _ request: HTTPMessage.Request,
        _ response: JSONValue,
        _ location: String
    ) throws(RecordingError) {
        guard let code = response["code"] else {
            throw reader.makeError(
                1,
                "\(location) has no code",
                "Save the response again in Postman."
            )
        }
        let status = try reader.status(code, location + "/code")
        if let earlierStatus = statusByRequest[request] {
            reader.notes.append(
                "\(location), \(status.code), is left out: the same request already has status \(earlierStatus)"
            )
            return
        }
        statusByRequest[request] = status.code
        try reader.add(
            request,
            RecordedResponse(
                status,
                fields: Self.fields(response["header"]),
                body: Array((response["body"]?.string ?? "").utf8)
            ),
            at: nil
        )
    }

    // MARK: Requests

    private func request(
        _ value: JSONValue,
        _ location: String,
        _ inheritedAuth: JSONValue?
    ) throws(RecordingError) -> HTTPMessage.Request {
        // A request may be a string that contains only a URL; its method is then GET.
        let method = value["method"]?.string?.uppercased() ?? "GET"
        let url = value.string.map(JSONValue.string) ?? value["url"]
        guard ImportReader.isMethod(method), let url else {
            throw reader.makeError(1, "\(location) has no url", "Export the collection again.")
        }
        var target = try self.target(url, location)
        var fields = Self.fields(value["header"])
        let (body, type) = try self.body(value["body"], location)
        if let type, !fields.contains(where: { $0.name.lowercased() == "content-type" }) {
            fields.append(HTTPMessage.Field("Content-Type", type))
        }
        try authorize(value["auth"] ?? inheritedAuth, &fields, &target, location)
        var resolvedFields: [HTTPMessage.Field] = []
        for field in fields {
            resolvedFields.append(
                HTTPMessage.Field(field.name, try substituteVariables(field.value, location))
            )
        }
        return HTTPMessage.Request(
            method,
            target,
            fields: resolvedFields,
            body: Array(try substituteVariables(body, location).utf8)
        )
    }

    /// Returns the path and query of a request URL.
    ///
    /// The host, which is usually a variable, is ignored.
    private func target(_ url: JSONValue, _ location: String) throws(RecordingError) -> String {
        var raw = url.string ?? url["raw"]?.string ?? ""
        if raw.hasPrefix("{{"), let end = raw.firstRange(of: "}}") {
            raw = "http://host" + raw[end.upperBound...]
        }
        if !raw.hasPrefix("/"), raw.firstRange(of: "://") == nil { raw = "http://" + raw }
        guard let target = ImportReader.target(raw) else {
            throw reader.makeError(
                1,
                "\(location): '\(raw.prefix(80))' is not a URL",
                "Correct the URL."
            )
        }
        let pathAndQuery = try substituteVariables(target, location).split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        // Replaces path variables, as in `/users/:id`, with their values from the list `variable`
        // of the URL.
        let pathVariables = Self.pairs(url["variable"])
        let path = pathAndQuery[0].split(separator: "/", omittingEmptySubsequences: false)
            .map { part in
                part.hasPrefix(":")
                    ? pathVariables[String(part.dropFirst())].map(\.percentEncoded) ?? String(part)
                    : String(part)
            }
        let disabledNames = Set(
            (url["query"]?.array ?? []).filter { $0["disabled"]?.bool == true }
                .map { "\($0["key"]?.string ?? "")=\($0["value"]?.string ?? "")" }
        )
        let query = pathAndQuery.dropFirst().first?.split(separator: "&")
            .filter { !disabledNames.contains(String($0)) }.joined(separator: "&")
        let resolvedTarget =
            path.joined(separator: "/") + (query.map { $0.isEmpty ? "" : "?" + $0 } ?? "")
        return Self.percentEncodedTarget(resolvedTarget)
    }

    /// Percent-encodes the characters of a path and query that a request line cannot contain, as
    /// Postman does.
    private static func percentEncodedTarget(_ target: String) -> String {
        target.utf8.map { byte in
            let isPlain = (0x21...0x7E).contains(byte) && !"\"<>`{}|\\^".utf8.contains(byte)
            if isPlain { return String(UnicodeScalar(byte)) }
            let hexDigits = String(byte, radix: 16, uppercase: true)
            return "%" + (hexDigits.count == 1 ? "0" : "") + hexDigits
        }.joined()
    }

    private func body(
        _ value: JSONValue?,
        _ location: String
    ) throws(RecordingError) -> (text: String, type: String?) {
        guard let value, let mode = value["mode"]?.string, value["disabled"]?.bool != true else {
            return ("", nil)
        }
        switch mode {
        case "raw":
            let text = value["raw"]?.string ?? ""
            let language = value["options"]?["raw"]?["language"]?.string
            return (text, language == "json" && !text.isEmpty ? "application/json" : nil)
        case "urlencoded":
            let pairs = (value["urlencoded"]?.array ?? []).filter { $0["disabled"]?.bool != true }
            var formPairs: [String] = []
            for pair in pairs {
                let name = try substituteVariables(pair["key"]?.string ?? "", location)
                let text = try substituteVariables(pair["value"]?.string ?? "", location)
                formPairs.append("\(name.percentEncoded)=\(text.percentEncoded)")
            }
            return (formPairs.joined(separator: "&"), "application/x-www-form-urlencoded")
        case "graphql":
            let query = value["graphql"]?["query"] ?? ""
            let text = try substituteVariables(
                value["graphql"]?["variables"]?.string ?? "",
                location
            )
            guard let variables = JSONValue(ifValid: Array((text.isEmpty ? "{}" : text).utf8))
            else {
                throw reader.makeError(
                    1,
                    "\(location): GraphQL variables are not JSON",
                    "Correct them."
                )
            }
            let body: JSONValue = ["query": query, "variables": variables]
            return (body.text, "application/json")
        default:
            throw reader.makeError(
                1,
                "\(location)/body has mode '\(mode.prefix(20))'; the collection does not contain the sent bytes",
                "Export the session as HAR, or as curl with -F."
            )
        }
    }

    private func authorize(
        _ auth: JSONValue?,
        _ fields: inout [HTTPMessage.Field],
        _ target: inout String,
        _ location: String
    ) throws(RecordingError) {
        guard let auth, !auth.isNull, let type = auth["type"]?.string, type != "noauth" else {
            return
        }
        let values = Self.pairs(auth[type])
        switch type {
        case "bearer":
            let token = values["token"] ?? ""
            fields.append(HTTPMessage.Field("Authorization", "Bearer " + token))
        case "basic":
            let name = try substituteVariables(values["username"] ?? "", location)
            let password = try substituteVariables(values["password"] ?? "", location)
            let text = Base64.text(Array("\(name):\(password)".utf8))
            fields.append(HTTPMessage.Field("Authorization", "Basic " + text))
        case "apikey":
            let (key, value) = (values["key"] ?? "", values["value"] ?? "")
            if values["in"] == "query" {
                let text =
                    "\(key.percentEncoded)=\(try substituteVariables(value, location).percentEncoded)"
                target += (target.contains("?") ? "&" : "?") + text
            } else {
                fields.append(HTTPMessage.Field(key, value))
            }
        default:
            throw reader.makeError(
                1,
                "\(location) uses '\(type.prefix(20))'; the collection does not contain the sent credentials",
                "Export the session as HAR, or as curl with its headers."
            )
        }
    }

    // MARK: Values

    /// Returns a string with every `{{name}}` replaced by the value of the collection's variable.
    private func substituteVariables(_ text: String, _ location: String) throws(RecordingError)
        -> String
    {
        var output = ""
        var remainingText = text[...]
        while let open = remainingText.firstRange(of: "{{"),
            let closingBraces = remainingText[open.upperBound...].firstRange(of: "}}")
        {
            let name = String(remainingText[open.upperBound..<closingBraces.lowerBound])
            guard let value = variables[name] else {
                throw reader.makeError(
                    1,
                    "\(location): the variable {{\(name.prefix(40))}} has no value",
                    "Set the variable in the collection, and export the collection again."
                )
            }
            output += remainingText[..<open.lowerBound] + value
            remainingText = remainingText[closingBraces.upperBound...]
        }
        return output + remainingText
    }

    /// Returns a list of names and values as a dictionary; format 2.0 writes some of these lists as
    /// a JSON object.
    private static func pairs(_ value: JSONValue?) -> [String: String] {
        let members = value?.object?.members.map { ($0.key, $0.value.string ?? $0.value.text) }
        let keysAndValues = (value?.array ?? []).compactMap { entry -> (String, String)? in
            guard let key = (entry["key"] ?? entry["id"])?.string else { return nil }
            return (key, entry["value"].map { $0.string ?? $0.text } ?? "")
        }
        return Dictionary(members ?? keysAndValues) { _, last in last }
    }

    private static func fields(_ value: JSONValue?) -> [HTTPMessage.Field] {
        (value?.array ?? []).filter { $0["disabled"]?.bool != true }.compactMap { header in
            header["key"]?.string.map {
                HTTPMessage.Field($0, header["value"]?.string ?? "")
            }
        }
    }
}
