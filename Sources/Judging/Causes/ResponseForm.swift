package import Values

/// The form of a response body, without the values that differ between two equal failures.
///
/// JSON is reduced to its keys and the words of its short strings, HTML to its title, and other
/// text to the words of its first line. Words with digits or punctuation, such as IDs and event
/// types, are left out.
package struct ResponseForm: Hashable, Sendable {
    private enum Kind: Hashable, Sendable {
        case empty
        case html
        case json([String])
        case text([String])
    }

    private let kind: Kind

    /// The longest string in JSON whose words count, in bytes; longer ones are data.
    private static let messageBytesMax = 200
    private static let wordCountMax = 8

    package init(_ response: HTTPMessage.Response) {
        if response.body.isEmpty {
            kind = .empty
        } else if response.isHTMLPage {
            kind = .html
        } else if let json = response.bodyJSON {
            kind = .json(Self.lines(of: json))
        } else {
            let text = String(decoding: response.body.prefix(1024), as: UTF8.self)
            kind = .text(Self.words(text.split(whereSeparator: \.isNewline).first ?? ""))
        }
    }

    private static func lines(of value: JSONValue) -> [String] {
        switch value {
        case .object(let object):
            object.members.map { member in
                ([member.key] + lines(of: member.value)).joined(separator: " ")
            }.sorted()
        case .array(let elements): elements.first.map(lines) ?? []
        case .string(let text):
            text.utf8.count <= messageBytesMax ? words(text[...]) : []
        case .null, .bool, .number: []
        }
    }

    private static func words(_ text: Substring) -> [String] {
        text.split(whereSeparator: \.isWhitespace)
            .map { $0.trimming { ".,:;!?'\"()".contains($0) } }
            .filter { !$0.isEmpty && $0.allSatisfy(\.isLetter) && $0 != $0.uppercased() }
            .prefix(wordCountMax).map { $0.lowercased() }
    }
}

extension Substring {
    fileprivate func trimming(_ isTrimmed: (Character) -> Bool) -> Substring {
        var rest = drop(while: isTrimmed)
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return rest
    }
}

extension HTTPMessage.Response {
    /// Whether the body is an HTML page, by its content type or its first characters.
    ///
    /// Some frameworks declare the type of HTML for an empty body, which is not a page.
    package var isHTMLPage: Bool {
        guard !body.isEmpty else { return false }
        if self[field: "content-type"]?.lowercased().hasPrefix("text/html") == true { return true }
        let start = String(decoding: body.prefix(64), as: UTF8.self).lowercased()
            .drop(while: \.isWhitespace)
        return start.hasPrefix("<!doctype html") || start.hasPrefix("<html")
    }
}
