internal import Values

/// The multipart form of a `curl` command.
struct CurlForm {
    private static let boundary = "------------------------assayimportedform"
    static let contentType = "multipart/form-data; boundary=" + boundary

    private var parts: [[UInt8]] = []

    var isEmpty: Bool { parts.isEmpty }

    /// The body of the request.
    var body: [UInt8] {
        parts.flatMap { Array("--\(Self.boundary)\r\n".utf8) + $0 + [13, 10] }
            + Array("--\(Self.boundary)--\r\n".utf8)
    }

    /// Adds a form argument of `curl`: `name=value`, `name=@file` or `name=<file`, with optional
    /// `;type=` and `;filename=`.
    ///
    /// In a literal argument (`--form-string`), `@`, `<` and `;` have no special meaning.
    mutating func add(
        _ text: String,
        isLiteral: Bool = false,
        file: (_ path: String) throws(CurlCommand.Problem) -> [UInt8]
    ) throws(CurlCommand.Problem) {
        parts.append(try Self.part(text, isLiteral: isLiteral, file))
    }

    /// Returns the encoded part for one form argument.
    private static func part(
        _ text: String,
        isLiteral: Bool,
        _ file: (_ path: String) throws(CurlCommand.Problem) -> [UInt8]
    ) throws(CurlCommand.Problem) -> [UInt8] {
        guard let (name, rest) = text.cut(at: "="), !name.isEmpty else {
            throw CurlCommand.Problem(
                "'\(text)' is not a form field",
                "Write the field as -F 'NAME=VALUE'."
            )
        }
        var value = String(rest)
        var (type, filename): (String?, String?) = (nil, nil)
        if !isLiteral {
            let formPieces =
                isQuoted(value)
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
            bytes = try file(path)
            if sign == "@" {
                filename = filename ?? path.split(separator: "/").last.map(String.init)
                type = type ?? mediaType(of: filename ?? path)
            }
        }
        if !isLiteral, isQuoted(value) {
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
}
