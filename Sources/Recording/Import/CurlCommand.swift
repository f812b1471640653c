internal import Grammar
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
    private var form: [[UInt8]] = []
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

    private enum Flag {
        /// A flag with a value that does not affect the request.
        case ignored
        /// A flag without a value that does not affect the request.
        case ignoredWithoutValue
        /// A flag with which the request cannot be determined, and the reason.
        case refused(String)
        case method, header, data, rawData, binaryData, encodedData, json, form, literalForm, user
        case literalURLs, bearer, cookie, query, head, url, urlQuery, upload, userAgent, referer,
            range,
            target, next
    }

    private static let shortFlags: [Character: Flag] = {
        var flags: [Character: Flag] = [
            "X": .method, "H": .header, "d": .data, "F": .form, "u": .user, "b": .cookie,
            "G": .query, "I": .head, "T": .upload, "A": .userAgent, "e": .referer, "r": .range,
            "g": .literalURLs, ":": .next, "C": .refused("depends on an earlier response"),
            "K": .refused("is read from a file"),
            "n": .refused("takes its password from a file"),
            "z": .refused("depends on a date"), "Q": .refused("does not use HTTP"),
        ]
        for letter in "ocDmwxUEyYPt" { flags[letter] = .ignored }
        for letter in "sSkviLfqN#012346aBjJlMOpRZ" { flags[letter] = .ignoredWithoutValue }
        return flags
    }()

    private static let longFlags: [String: Flag] = {
        var flags: [String: Flag] = [
            "request": .method, "header": .header, "data": .data, "data-ascii": .data,
            "data-raw": .rawData, "data-binary": .binaryData, "data-urlencode": .encodedData,
            "json": .json, "form": .form, "form-string": .literalForm, "user": .user,
            "oauth2-bearer": .bearer, "cookie": .cookie, "get": .query, "head": .head, "url": .url,
            "url-query": .urlQuery, "upload-file": .upload, "user-agent": .userAgent,
            "referer": .referer, "range": .range, "request-target": .target, "next": .next,
            "globoff": .literalURLs,
            "config": .refused("is read from a file"),
            "netrc": .refused("takes its password from a file"),
            "netrc-file": .refused("takes its password from a file"),
            "netrc-optional": .refused("takes its password from a file"),
            "variable": .refused("has variables"), "expand-url": .refused("has variables"),
            "time-cond": .refused("depends on a date"),
            "etag-compare": .refused("depends on an earlier response"),
            "continue-at": .refused("depends on an earlier response"),
        ]
        let unsupportedAuthOptions = [
            "digest", "ntlm", "negotiate", "anyauth", "aws-sigv4", "proxy-anyauth",
        ]
        for name in unsupportedAuthOptions {
            flags[name] = .refused("needs several requests or a new signature")
        }
        let ignored = [
            "output", "output-dir", "max-time", "connect-timeout", "write-out", "retry",
            "retry-delay", "retry-max-time", "max-redirs", "proxy", "proxy-user", "cacert",
            "capath",
            "cert", "cert-type", "key", "key-type", "pass", "ciphers", "tls13-ciphers", "curves",
            "resolve", "connect-to", "interface", "cookie-jar", "dump-header", "limit-rate",
            "speed-limit", "speed-time", "stderr", "trace", "trace-ascii", "keepalive-time",
            "dns-servers", "unix-socket", "abstract-unix-socket", "max-filesize", "tls-max",
            "noproxy", "local-port", "expect100-timeout", "parallel-max", "rate",
            "happy-eyeballs-timeout-ms", "create-file-mode", "etag-save", "proxy-header",
            "proto", "proto-default", "proto-redir", "socks4", "socks4a", "socks5",
            "socks5-hostname", "doh-url", "pinnedpubkey", "service-name",
        ]
        for name in ignored { flags[name] = .ignored }
        let ignoredWithoutValue = [
            "silent", "show-error", "insecure", "verbose", "include", "show-headers", "location",
            "location-trusted", "fail", "fail-with-body", "fail-early", "disable",
            "no-buffer", "progress-bar", "no-progress-meter", "basic", "compressed",
            "compressed-ssh", "http0.9", "http1.0", "http1.1", "http2", "http2-prior-knowledge",
            "http3", "http3-only", "ipv4", "ipv6", "tlsv1", "tlsv1.0", "tlsv1.1", "tlsv1.2",
            "tlsv1.3", "ssl", "ssl-reqd", "ssl-no-revoke", "ssl-allow-beast", "sslv2", "sslv3",
            "tcp-nodelay", "tcp-fastopen", "keepalive", "parallel", "parallel-immediate",
            "path-as-is", "post301", "post302", "post303", "raw", "remote-name",
            "remote-name-all", "remote-header-name", "remote-time", "create-dirs", "clobber",
            "junk-session-cookies", "list-only", "manual", "trace-time", "trace-ids",
            "styled-output",
            "suppress-connect-headers", "tr-encoding", "xattr", "retry-all-errors",
            "retry-connrefused", "alpn", "npn", "sessionid", "cert-status", "ca-native",
            "proxytunnel",
            "skip-existing", "remove-on-error", "haproxy-protocol", "disallow-username-in-url",
        ]
        for name in ignoredWithoutValue { flags[name] = .ignoredWithoutValue }
        return flags
    }()

    private mutating func parseArgument(_ word: String) throws(Problem) {
        guard word.hasPrefix("-"), word != "-" else {
            urls.append(word)
            return
        }
        if word.hasPrefix("--") {
            let name = String(word.dropFirst(2))
            // A negated flag, such as `--no-silent`, has no effect if the flag itself has none.
            if name.hasPrefix("no-"),
                case .ignoredWithoutValue? = Self.longFlags[String(name.dropFirst(3))]
            {
                return
            }
            guard let flag = Self.longFlags[name] else { throw unknownOptionProblem(word) }
            return try parseArgument(flag, word, attachedValue: nil)
        }
        // `-sSXPOST` is three flags; the rest of the word is the value of the last one.
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let flag = Self.shortFlags[letter] else {
                throw unknownOptionProblem("-\(letter)")
            }
            let attachedValue = letters.isEmpty ? nil : String(letters)
            if Self.takesValue(flag) {
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

    private static func takesValue(_ flag: Flag) -> Bool {
        switch flag {
        case .ignoredWithoutValue, .refused, .query, .head, .next, .literalURLs: false
        case .ignored, .method, .header, .data, .rawData, .binaryData, .encodedData, .json, .form,
            .literalForm, .user, .bearer, .cookie, .url, .urlQuery, .upload, .userAgent, .referer,
            .range, .target:
            true
        }
    }

    private mutating func parseArgument(
        _ flag: Flag,
        _ word: String,
        attachedValue: String?
    ) throws(Problem) {
        var value = ""
        if Self.takesValue(flag) {
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
        case .form: form.append(try formPart(value))
        case .literalForm: form.append(try formPart(value, isLiteral: true))
        case .user:
            guard value.contains(":") else {
                throw Problem(
                    "'\(word) \(value)' has no password",
                    "Write '\(word) NAME:PASSWORD'."
                )
            }
            set("authorization", "Basic " + Base64.text(Array(value.utf8)))
        case .bearer: set("authorization", "Bearer " + value)
        case .cookie:
            guard value.contains("=") else {
                throw Problem(
                    "the cookies are in the file '\(value)', which is not imported",
                    "Write the cookies as -b 'NAME=VALUE; NAME=VALUE'."
                )
            }
            let earlierCookies = fields.first { $0.name == "cookie" }.map { $0.value + ";" } ?? ""
            set("cookie", earlierCookies + value)
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

    /// Returns the encoded part of a multipart body for one form argument of `curl`: `name=value`,
    /// `name=@file` or `name=<file`, with optional `;type=` and `;filename=`.
    ///
    /// In a literal argument (`--form-string`), `@`, `<` and `;` have no special meaning.
    private func formPart(_ text: String, isLiteral: Bool = false) throws(Problem) -> [UInt8] {
        guard let (name, rest) = text.cut(at: "="), !name.isEmpty else {
            throw Problem("'\(text)' is not a form field", "Write the field as -F 'NAME=VALUE'.")
        }
        var value = String(rest)
        var (type, filename): (String?, String?) = (nil, nil)
        if !isLiteral {
            let formPieces =
                Self.isQuoted(value)
                ? [value[...]] : value.split(separator: ";", omittingEmptySubsequences: false)
            value = formPieces.first.map(String.init) ?? ""
            for piece in formPieces.dropFirst() {
                if piece.hasPrefix("type=") {
                    type = String(piece.dropFirst(5))
                } else if piece.hasPrefix("filename=") {
                    filename = piece.dropFirst(9).filter { $0 != "\"" }
                } else if type != nil, piece.contains("=") {
                    type = (type ?? "") + ";" + piece
                }
                // Other attributes are ignored, as curl does. A quoted value has no attributes.
            }
        }
        var bytes = Array(value.utf8)
        if !isLiteral, let sign = value.first, sign == "@" || sign == "<" {
            let path = String(value.dropFirst())
            bytes = try file(path, "-F")
            if sign == "@" {
                filename = filename ?? path.split(separator: "/").last.map(String.init)
                type = type ?? Self.mediaType(of: filename ?? path)
            }
        }
        if !isLiteral, Self.isQuoted(value) {
            bytes = Array(value.dropFirst().dropLast().utf8)
        }
        var head = "Content-Disposition: form-data; name=\"\(name)\""
        if let filename { head += "; filename=\"\(filename)\"" }
        if let type { head += "\r\nContent-Type: \(type)" }
        return Array((head + "\r\n\r\n").utf8) + bytes
    }

    private static func isQuoted(_ value: String) -> Bool {
        value.count > 1 && value.hasPrefix("\"") && value.hasSuffix("\"")
    }

    /// Returns the media type that curl derives from the extension of a file name.
    private static func mediaType(of name: String) -> String {
        let mediaTypeByExtension = [
            ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
            ".svg": "image/svg+xml", ".txt": "text/plain", ".htm": "text/html",
            ".html": "text/html", ".pdf": "application/pdf", ".xml": "application/xml",
        ]
        let lowercasedName = name.lowercased()
        return mediaTypeByExtension.first { lowercasedName.hasSuffix($0.key) }?.value
            ?? "application/octet-stream"
    }

    // MARK: Requests

    private static let boundary = "------------------------assayimportedform"

    /// Creates one request for each URL of the command, according to the flags so far.
    private mutating func finishRequest() throws(Problem) {
        guard !urls.isEmpty else { throw Problem("the command has no URL") }
        guard form.isEmpty || data == nil else {
            throw Problem("the command has a form and data", "Remove either -F or -d.")
        }
        for url in urls { requests.append(try request(url)) }
        (method, urls, fields, removedHeaders, data, sendsJSON) = (nil, [], [], [], nil, false)
        (form, query, target, upload) = ([], [], nil, nil)
        (sendsDataAsQuery, isHeadRequest, usesLiteralURLs) = (false, false, false)
    }

    private func request(_ url: String) throws(Problem) -> HTTPMessage.Request {
        // The brackets around an IPv6 address are not a curl pattern for several URLs.
        let rest = url.contains("://[") ? url.replacing("://[", with: "") : url
        guard usesLiteralURLs || !rest.contains(where: { "{[".contains($0) }) else {
            throw Problem(
                "curl makes several requests from '\(url)'",
                "Write one command for each request, or add -g if the brackets are literal."
            )
        }
        guard var path = ImportReader.target(url.contains("://") ? url : "http://" + url) else {
            throw Problem("'\(url)' is not a URL")
        }
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
            type = "multipart/form-data; boundary=" + Self.boundary
            body = form.flatMap { Array("--\(Self.boundary)\r\n".utf8) + $0 + [13, 10] }
            body += Array("--\(Self.boundary)--\r\n".utf8)
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
