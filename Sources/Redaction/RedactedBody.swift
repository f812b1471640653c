package import Values

/// The body of a message without its secrets, in the format that was detected in the body.
package enum RedactedBody {
    case unchangedJSON(JSONValue)
    case json(JSONValue)
    case text(String)
    /// The body is binary data in which no secret was found, so that its bytes stay unchanged.
    case bytes
    /// The body could not be parsed and may contain secrets; the string is the mark that replaces
    /// the whole body.
    case hidden(String)
}

extension Redaction {
    /// Removes the secrets from the body of a message according to its format.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the body, in any format and encoding.
    ///   - contentType: The content type that the message declares; the body may have another
    ///     format.
    /// - Returns: The body without its secrets.
    package func redacted(_ bytes: [UInt8], contentType: String?) -> RedactedBody {
        if let value = Self.parsedJSON(bytes) { return jsonBody(value) }
        let mediaType = contentType?.lowercased() ?? ""
        if let text = Self.utf16Text(bytes, mediaType), self.text(text) != text {
            return .hidden(masked("body", text))
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let lossyText = String(decoding: bytes, as: UTF8.self)
            let isBinary = bytes.contains(0) && !claimsJSON(bytes, mediaType)
            guard isBinary, self.text(lossyText) == lossyText, !known.areContained(in: bytes) else {
                return .hidden(masked("body", lossyText))
            }
            return .bytes
        }
        if let lines = redactedJSONLines(text) { return .text(lines) }
        if mediaType.hasPrefix("text/event-stream") { return .text(redactedEvents(text)) }
        let isTable = mediaType.hasPrefix("text/csv") || mediaType.hasPrefix("text/tab-separated")
        if isTable, let redactedTable = redactedTable(text) { return .text(redactedTable) }
        if claimsJSON(bytes, mediaType) {
            return SecretMark.isMark(text) ? .text(text) : .hidden(masked("body", text))
        }
        if mediaType.hasPrefix("application/x-www-form-urlencoded") {
            return .text(parameters(text))
        }
        if mediaType.hasPrefix("multipart/") { return .text(parts(text)) }
        return .text(self.text(text))
    }

    /// Decodes a body in UTF-16, which is detected by the byte order mark or the content type;
    /// returns nil for other bodies.
    private static func utf16Text(_ bytes: [UInt8], _ mediaType: String) -> String? {
        let hasByteOrderMark =
            bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff])
        guard hasByteOrderMark || mediaType.contains("utf-16") || mediaType.contains("utf16") else {
            return nil
        }
        let isBigEndian = bytes.starts(with: [0xfe, 0xff]) || mediaType.contains("utf-16be")
        let codeUnits = stride(from: 0, to: bytes.count - 1, by: 2).map { index -> UInt16 in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        return String(decoding: codeUnits, as: UTF16.self)
    }

    /// Returns the bytes of a message's body with its secrets masked.
    package func body(_ bytes: [UInt8], contentType: String?) -> [UInt8] {
        switch redacted(bytes, contentType: contentType) {
        case .unchangedJSON, .bytes: bytes
        case .json(let value): value.bytes
        case .text(let text): Array(text.utf8)
        case .hidden(let mark): Array(mark.utf8)
        }
    }

    /// Whether the body should be JSON according to its content type or, without a content type, to
    /// its first byte.
    private func claimsJSON(_ bytes: [UInt8], _ mediaType: String) -> Bool {
        if mediaType.contains("json") { return true }
        guard mediaType.isEmpty, let first = bytes.first(where: { $0 > 0x20 }) else { return false }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Redacts a body with one JSON object per line; returns nil when a line is not a JSON object.
    private func redactedJSONLines(_ text: String) -> String? {
        let lines = text.parts(between: "\n")
        guard lines.count > 1 else { return nil }
        var clean: [String] = []
        for line in lines {
            if line.allSatisfy(\.isWhitespace) {
                clean.append(line)
                continue
            }
            guard let value = Self.parsedJSON(Array(line.utf8)), value.object != nil else {
                return nil
            }
            switch jsonBody(value) {
            case .json(let value): clean.append(value.text + (line.utf8.last == 13 ? "\r" : ""))
            case .unchangedJSON, .text, .bytes, .hidden: clean.append(line)
            }
        }
        return clean.joined(separator: "\n")
    }

    /// Redacts a stream of server-sent events; the value after each `data:` is redacted as a
    /// separate string.
    private func redactedEvents(_ text: String) -> String {
        text.parts(between: "\n").map { line in
            guard let (name, value) = line.cut(at: ":"), !name.isEmpty else {
                return self.text(line)
            }
            let leadingBlanks = value.prefix { $0 == " " }
            return name + ":" + leadingBlanks + string(String(value.dropFirst(leadingBlanks.count)))
        }.joined(separator: "\n")
    }

    /// Redacts comma-separated values by masking the columns whose header is the name of a secret.
    ///
    /// - Returns: The redacted table; nil when no column contains secrets.
    private func redactedTable(_ text: String) -> String? {
        let lines = text.parts(between: "\n")
        let separatorBytes: [UInt8] = [0x2c, 0x3b, 0x09]
        let separator = separatorBytes.first { lines[0].utf8.contains($0) } ?? 0x2c
        let kinds = Self.cells(lines[0], separator).map { cell in
            kind(ofMember: cell.trimmed(of: "\" \r\u{feff}"))
        }
        guard kinds.contains(where: { $0 != nil }) else { return nil }
        let rows = lines.dropFirst().map { line in
            let cells = Self.cells(line, separator)
            // A line with another number of cells than the header could contain a secret in any of
            // its cells.
            if cells.count != kinds.count, !line.allSatisfy(\.isWhitespace) {
                return masked("body", line)
            }
            return zip(cells, kinds).map { cell, kind in
                let trimmedCell = cell.trimmed(of: "\" \r")
                guard let kind, !trimmedCell.isEmpty else { return self.text(cell) }
                return masked(kind, trimmedCell) + (cell.utf8.last == 13 ? "\r" : "")
            }.joined(separator: String(UnicodeScalar(separator)))
        }
        return ([lines[0]] + rows).joined(separator: "\n")
    }

    private static func cells(_ line: String, _ separator: UInt8) -> [String] {
        var cells: [String] = []
        var isQuoted = false
        var start = line.utf8.startIndex
        for index in line.utf8.indices {
            let byte = line.utf8[index]
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == separator, !isQuoted {
                cells.append(String(line[start..<index]))
                start = line.utf8.index(after: index)
            }
        }
        return cells + [String(line[start...])]
    }

    /// Redacts a multipart form; the content of a part with the name of a secret is masked as a
    /// whole.
    private func parts(_ text: String) -> String {
        let normalizedText = text.replacingLineEnds
        guard let boundary = normalizedText.split(separator: "\n").first, boundary.hasPrefix("--")
        else {
            return self.text(text)
        }
        let parts = normalizedText.split(separator: boundary, omittingEmptySubsequences: false)
        return parts.map { part in
            guard let headerEnd = part.firstRange(of: "\n\n") else {
                return self.text(String(part))
            }
            let partHeader = String(part[..<headerEnd.lowerBound])
            let content = part[headerEnd.upperBound...]
            let value = content.hasSuffix("\n") ? content.dropLast() : content
            let name = partHeader.firstRange(of: "name=").map { nameRange in
                let remainingText = partHeader[nameRange.upperBound...]
                return remainingText.hasPrefix("\"")
                    ? String(remainingText.dropFirst().prefix { $0 != "\"" })
                    : String(remainingText.prefix { !"; \n".contains($0) })
            }
            let clean =
                name.flatMap(kind(ofMember:)).map { masked($0, String(value)) }
                ?? self.text(String(value))
            return self.text(partHeader) + "\n\n" + clean + (content.hasSuffix("\n") ? "\n" : "")
        }.joined(separator: String(boundary))
    }
}

extension String {
    fileprivate func trimmed(of characters: String) -> String {
        let trimmedStart = drop { characters.contains($0) }
        var remainingText = trimmedStart
        while let last = remainingText.last, characters.contains(last) {
            remainingText.removeLast()
        }
        return String(remainingText)
    }

    /// The string with `\r\n` replaced by `\n`.
    fileprivate var replacingLineEnds: String {
        String(decoding: utf8.filter { $0 != 13 }, as: UTF8.self)
    }
}
