internal import Providers
internal import Values

/// The requests of one `curl` command.
///
/// An unknown flag of the command is an error, because it could change the request.
struct CurlCommand {
    /// The reason why a `curl` command cannot be imported, and how to fix the command.
    struct Problem: Error, Hashable {
        let text: String
        let remedy: String

        init(_ text: String, _ remedy: String = "Complete the command.") {
            self.text = text
            self.remedy = remedy
        }
    }

    /// A function that returns the content of a file that a command names; nil when the file does
    /// not exist.
    typealias FileReader = @Sendable (_ path: String) -> [UInt8]?

    private let files: FileReader
    private var arguments: ArraySlice<String>
    private(set) var requests: [HTTPMessage.Request] = []

    // The properties of the request according to the flags so far.
    private var method: String?
    private var urls: [String] = []
    private var fields: [HTTPMessage.Field] = []
    /// The names of headers that the command omits, as with `-H 'Accept:'`.
    private var removedHeaders: Set<String> = []
    private var data: [UInt8]?
    private var sendsJSON = false
    private var form = CurlForm()
    private var query: [String] = []
    private var target: String?
    private var upload: (name: String, bytes: [UInt8])?
    private var (sendsDataAsQuery, isHeadRequest, usesLiteralURLs) = (false, false, false)

    /// Parses one `curl` command.
    ///
    /// - Parameters:
    ///   - arguments: The words of the command after `curl`.
    ///   - files: Reads the files that the command names.
    /// - Throws: An error when the request cannot be determined.
    init(_ arguments: [String], files: @escaping FileReader) throws(Problem) {
        self.arguments = arguments[...]
        self.files = files
        while let word = self.arguments.popFirst() { try parseArgument(word) }
        try finishRequest()
    }

    // MARK: Flags

    private mutating func parseArgument(_ word: String) throws(Problem) {
        guard word.hasPrefix("-"), word != "-" else {
            urls.append(word)
            return
        }
        if word.hasPrefix("--") {
            let name = String(word.dropFirst(2))
            // A negated flag, such as `--no-silent`, has no effect if the flag itself has none.
            if name.hasPrefix("no-"),
                case .ignoredWithoutValue? = CurlFlag.byName[String(name.dropFirst(3))]
            {
                return
            }
            guard let flag = CurlFlag.byName[name] else { throw unknownOptionProblem(word) }
            return try parseArgument(flag, word, attachedValue: nil)
        }
        // `-sSXPOST` is three flags; the rest of the word is the value of the last one.
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let flag = CurlFlag.byLetter[letter] else {
                throw unknownOptionProblem("-\(letter)")
            }
            let attachedValue = letters.isEmpty ? nil : String(letters)
            if flag.takesValue {
                return try parseArgument(flag, "-\(letter)", attachedValue: attachedValue)
            }
            try parseArgument(flag, "-\(letter)", attachedValue: nil)
        }
    }

    private func unknownOptionProblem(_ word: String) -> Problem {
        Problem(
            "the curl option '\(word)' is not supported",
            "Remove the option if the request does not depend on it, or rewrite the command."
        )
    }

    private mutating func parseArgument(
        _ flag: CurlFlag,
        _ word: String,
        attachedValue: String?
    ) throws(Problem) {
        var value = ""
        if flag.takesValue {
            guard let text = attachedValue ?? arguments.popFirst() else {
                throw Problem("'\(word)' has no value")
            }
            value = text
        }
        switch flag {
        case .ignoredWithoutValue, .ignored: break
        case .refused(let reason):
            throw Problem(
                "the request cannot be imported: with '\(word)' it \(reason)",
                "Write the command without the option, with the headers that were sent."
            )
        case .method: method = value
        case .header: try header(value)
        case .data: try add(value, "&", readsFiles: true, keepsLines: false)
        case .rawData: add(Array(value.utf8), "&")
        case .binaryData: try add(value, "&", readsFiles: true, keepsLines: true)
        case .encodedData: add(Array(try urlEncoded(value).utf8), "&")
        case .json:
            sendsJSON = true
            try add(value, "", readsFiles: true, keepsLines: true)
        case .form: try addFormPart(value, isLiteral: false)
        case .literalForm: try addFormPart(value, isLiteral: true)
        case .user: try setUser(value, word)
        case .bearer: set("authorization", "Bearer " + value)
        case .cookie: try setCookies(value)
        case .literalURLs: usesLiteralURLs = true
        case .query: sendsDataAsQuery = true
        case .head: isHeadRequest = true
        case .url: urls.append(value)
        case .urlQuery:
            query.append(value.hasPrefix("+") ? String(value.dropFirst()) : try urlEncoded(value))
        case .upload: upload = (value, try file(value, word))
        case .userAgent: set("user-agent", value)
        case .referer: set("referer", value.replacing(";auto", with: ""))
        case .range: set("range", "bytes=" + value)
        case .target: target = value
        case .next: try finishRequest()
        }
    }

    /// Sets the header `Authorization` from `NAME:PASSWORD`.
    private mutating func setUser(_ value: String, _ word: String) throws(Problem) {
        guard value.contains(":") else {
            throw Problem(
                "'\(word) \(value)' has no password",
                "Write '\(word) NAME:PASSWORD'."
            )
        }
        set("authorization", "Basic " + Base64.text(Array(value.utf8)))
    }

    /// Adds cookies to the header `Cookie`.
    private mutating func setCookies(_ value: String) throws(Problem) {
        guard value.contains("=") else {
            throw Problem(
                "the cookies are in the file '\(value)', which is not imported",
                "Write the cookies as -b 'NAME=VALUE; NAME=VALUE'."
            )
        }
        let earlierCookies = fields.first { $0.name == "cookie" }.map { $0.value + ";" } ?? ""
        set("cookie", earlierCookies + value)
    }

    private mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name == name }
        fields.append(HTTPMessage.Field(name, value))
    }

    /// Adds a header to the request: `Name: value`, or `Name;` for an empty value.
    ///
    /// `Name:` omits a header that curl would add by itself.
    private mutating func header(_ text: String) throws(Problem) {
        if text.hasPrefix("@") {
            throw Problem(
                "the headers are in the file '\(text.dropFirst())', which is not imported",
                "Write each header as -H 'NAME: VALUE'."
            )
        }
        if let (name, value) = text.cut(at: ":"), !name.isEmpty {
            let trimmed = value.drop(while: \.isWhitespace)
            if trimmed.isEmpty {
                removedHeaders.insert(name.lowercased())
            } else {
                fields.append(HTTPMessage.Field(name, String(trimmed)))
            }
        } else if text.hasSuffix(";"), text.count > 1 {
            fields.append(HTTPMessage.Field(String(text.dropLast()), ""))
        } else {
            throw Problem("'\(text)' is not a header", "Write the header as -H 'NAME: VALUE'.")
        }
    }

    // MARK: Bodies

    private func file(_ path: String, _ flag: String) throws(Problem) -> [UInt8] {
        try Self.file(path, flag, files)
    }

    private static func file(
        _ path: String,
        _ flag: String,
        _ files: FileReader
    ) throws(Problem) -> [UInt8] {
        guard path != "-", path != "." else {
            throw Problem(
                "'\(flag)' reads from standard input",
                "Write the data into the command with --data-raw."
            )
        }
        guard let bytes = files(path) else {
            throw Problem(
                "there is no file '\(path)'",
                "Put the file into the folder of the file with the curl commands."
            )
        }
        return bytes
    }

    private mutating func add(_ bytes: [UInt8], _ separator: String) {
        data = data.map { $0 + Array(separator.utf8) + bytes } ?? bytes
    }

    private mutating func add(
        _ value: String,
        _ separator: String,
        readsFiles: Bool,
        keepsLines: Bool
    ) throws(Problem) {
        guard readsFiles, value.hasPrefix("@") else { return add(Array(value.utf8), separator) }
        var bytes = try file(String(value.dropFirst()), "@-")
        // `-d` removes line breaks and zero bytes from a file.
        if !keepsLines { bytes.removeAll { [0, 10, 13].contains($0) } }
        add(bytes, separator)
    }

    /// Returns the encoded value of `--data-urlencode`: `content`, `=content`, `name=content`,
    /// `@file` or `name@file`.
    private func urlEncoded(_ value: String) throws(Problem) -> String {
        guard let separatorIndex = value.firstIndex(where: { $0 == "=" || $0 == "@" }) else {
            return Self.escaped(Array(value.utf8))
        }
        let (name, rest) = (
            value[..<separatorIndex], String(value[value.index(after: separatorIndex)...])
        )
        let bytes = value[separatorIndex] == "@" ? try file(rest, "@-") : Array(rest.utf8)
        return (name.isEmpty ? "" : name + "=") + Self.escaped(bytes)
    }

    private static func escaped(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF")
        return bytes.map { byte in
            if byte == UInt8(ascii: " ") { return "+" }
            let scalar = Unicode.Scalar(byte)
            let isUnreserved =
                byte < 128
                && (scalar.properties.isAlphabetic || (48...57).contains(byte)
                    || "-._~".unicodeScalars.contains(scalar))
            return isUnreserved
                ? String(scalar) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }.joined()
    }

    private mutating func addFormPart(_ text: String, isLiteral: Bool) throws(Problem) {
        let files = files
        try form.add(text, isLiteral: isLiteral) { path throws(Problem) in
            try Self.file(path, "-F", files)
        }
    }

    // MARK: Requests

    /// Creates one request for each URL of the command, according to the flags so far.
    private mutating func finishRequest() throws(Problem) {
        guard !urls.isEmpty else { throw Problem("the command has no URL") }
        guard form.isEmpty || data == nil else {
            throw Problem("the command has a form and data", "Remove either -F or -d.")
        }
        for url in urls { requests.append(try request(url)) }
        (method, urls, fields, removedHeaders, data, sendsJSON) = (nil, [], [], [], nil, false)
        (form, query, target, upload) = (CurlForm(), [], nil, nil)
        (sendsDataAsQuery, isHeadRequest, usesLiteralURLs) = (false, false, false)
    }

    /// Returns the path and the query of a URL.
    private func path(of url: String) throws(Problem) -> String {
        // The brackets around an IPv6 address are not a curl pattern for several URLs.
        let rest = url.contains("://[") ? url.replacing("://[", with: "") : url
        guard usesLiteralURLs || !rest.contains(where: { "{[".contains($0) }) else {
            throw Problem(
                "curl makes several requests from '\(url)'",
                "Write one command for each request, or add -g if the brackets are literal."
            )
        }
        guard let path = ImportReader.target(url.contains("://") ? url : "http://" + url) else {
            throw Problem("'\(url)' is not a URL")
        }
        return path
    }

    private func request(_ url: String) throws(Problem) -> HTTPMessage.Request {
        var path = try path(of: url)
        var (body, fields) = (data ?? [], self.fields)
        var defaultMethod = data == nil ? "GET" : "POST"
        var type = "application/x-www-form-urlencoded"
        if sendsJSON {
            type = "application/json"
            if fields.value(of: "accept") == nil {
                fields.append(HTTPMessage.Field("accept", "application/json"))
            }
        }
        var queryParts = query
        if sendsDataAsQuery, let data {
            queryParts.append(String(decoding: data, as: UTF8.self))
            (body, defaultMethod) = ([], "GET")
        }
        if !queryParts.isEmpty {
            path += (path.contains("?") ? "&" : "?") + queryParts.joined(separator: "&")
        }
        if !form.isEmpty {
            defaultMethod = "POST"
            (type, body) = (CurlForm.contentType, form.body)
        }
        if let upload {
            (defaultMethod, body) = ("PUT", upload.bytes)
            if path.hasSuffix("/") {
                path += upload.name.split(separator: "/").last.map(String.init) ?? ""
            }
        }
        if isHeadRequest { defaultMethod = "HEAD" }
        defaultMethod = method ?? defaultMethod
        guard ImportReader.isMethod(defaultMethod) else {
            throw Problem(
                "'\(defaultMethod)' is not a method",
                "Write the method in capitals: -X POST."
            )
        }
        let hasContentType =
            fields.value(of: "content-type") != nil || removedHeaders.contains("content-type")
        if !hasContentType, upload == nil,
            !form.isEmpty || !body.isEmpty || data != nil && !sendsDataAsQuery
        {
            fields.append(HTTPMessage.Field("content-type", type))
        }
        return HTTPMessage.Request(
            defaultMethod,
            target ?? path,
            fields: fields.filter { !removedHeaders.contains($0.name.lowercased()) },
            body: body
        )
    }
}
