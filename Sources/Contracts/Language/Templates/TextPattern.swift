internal import Grammar
internal import Values

/// A pattern for strings with matchers inside, such as
/// `http://127.0.0.1:{{any.number}}/orders/{{some.order1}}`.
///
/// The text around matchers must be equal. Shorter matches are tried first. Each position is tried
/// once for each part of the pattern, so that the time grows in proportion to the string's length.
struct TextPattern {
    private enum Part {
        case exact([UInt8])
        case matcher(Matcher)
        /// A template name whose value is not known yet and is learned from the string; the value
        /// is not empty.
        case capture(String)
    }

    private enum Matcher: String {
        case any
        case text = "any.text"
        case number = "any.number"
        case uuid = "any.uuid"
        case timestamp = "any.timestamp"

        /// Whether a value that the matcher accepts may contain the byte.
        func canContain(_ byte: UInt8) -> Bool {
            let isDigit = (48...57).contains(byte)
            return switch self {
            case .any, .text: true
            case .number: isDigit || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            case .uuid, .timestamp:
                isDigit || (65...90).contains(byte) || (97...122).contains(byte)
                    || " :.+-".utf8.contains(byte)
            }
        }

        /// Whether the bytes are a complete value that the matcher accepts.
        func accepts(_ bytes: ArraySlice<UInt8>) -> Bool {
            let text = String(decoding: bytes, as: UTF8.self)
            return switch self {
            case .any, .text: true
            case .number: Double(text) != nil && text.last != "."
            case .uuid: TemplateValues.isUUID(text)
            case .timestamp:
                Instant(timeValue: .string(text)) != nil
                    || Int64(text).map { Instant(timeValue: .integer($0)) } ?? nil != nil
            }
        }

        var byteCountMax: Int {
            switch self {
            case .any, .text: .max
            case .number: 32
            case .uuid: 36
            case .timestamp: 64
            }
        }
    }

    private let parts: [Part]

    /// Creates a pattern from a template; nil when the template contains no matcher.
    ///
    /// - Parameters:
    ///   - template: A template that consists of more than one name.
    ///   - known: Returns the string for a piece of the template; nil when the value of the piece
    ///     is to be learned.
    init?(_ template: Template, known: (Template.Piece) -> String?) {
        let names = template.names
        guard names.contains(where: { Matcher(rawValue: $0) != nil }) else { return nil }
        var unknownNames: Set<String> = []
        parts = template.pieces.map { piece in
            guard case .name(let name) = piece else {
                return .exact(Array((known(piece) ?? "").utf8))
            }
            if let matcher = Matcher(rawValue: name) { return .matcher(matcher) }
            if let text = known(piece) { return .exact(Array(text.utf8)) }
            // Only the first use of an unknown name captures its value; a second use in the same
            // string, which is rare, matches any text.
            return unknownNames.insert(name).inserted ? .capture(name) : .matcher(.text)
        }
    }

    /// Returns the values that a matching string gives to the unknown names of the pattern; nil
    /// when the string does not match.
    func captures(in text: String) -> [(name: String, text: String)]? {
        let bytes = Array(text.utf8)
        var search = MatchSearch(parts: parts, bytes: bytes)
        guard search.matches(0, at: 0) else { return nil }
        return search.capturedRanges.map {
            ($0.name, String(decoding: bytes[$0.range], as: UTF8.self))
        }
    }

    private struct MatchSearch {
        let parts: [Part]
        let bytes: [UInt8]
        var capturedRanges: [(name: String, range: Range<Int>)] = []
        /// For each part of the pattern that matches any text, by index: the first byte position in
        /// the string at which the part is known not to match.
        ///
        /// At all later positions, the part does not match either.
        var firstFailingPositions: [Int: Int] = [:]

        init(parts: [Part], bytes: [UInt8]) {
            self.parts = parts
            self.bytes = bytes
        }

        /// Whether the parts of the pattern from an index on match the string from a position to
        /// its end.
        mutating func matches(_ index: Int, at start: Int) -> Bool {
            guard index < parts.count else { return start == bytes.count }
            switch parts[index] {
            case .exact(let exactBytes):
                let end = start + exactBytes.count
                return end <= bytes.count && bytes[start..<end].elementsEqual(exactBytes)
                    && matches(index + 1, at: end)
            case .matcher(let matcher):
                return matches(index, from: start, lengthMin: 0, matcher) { _, _ in }
            case .capture(let name):
                return matches(index, from: start, lengthMin: 1, .text) { search, range in
                    search.capturedRanges.insert((name, range), at: 0)
                }
            }
        }

        private mutating func matches(
            _ index: Int,
            from start: Int,
            lengthMin: Int,
            _ matcher: Matcher,
            _ store: (inout MatchSearch, Range<Int>) -> Void
        ) -> Bool {
            let matchesAnyText = matcher.byteCountMax == .max
            if matchesAnyText, let failurePosition = firstFailingPositions[index],
                start >= failurePosition
            {
                return false
            }
            if matchesAnyText, index == parts.count - 1 {
                guard bytes.count - start >= lengthMin else { return false }
                store(&self, start..<bytes.count)
                return true
            }
            var end = start
            while end - start <= matcher.byteCountMax {
                if end - start >= lengthMin, matchesAnyText || matcher.accepts(bytes[start..<end]),
                    matches(index + 1, at: end)
                {
                    store(&self, start..<end)
                    return true
                }
                guard end < bytes.count, matcher.canContain(bytes[end]) else { break }
                end += 1
            }
            if matchesAnyText {
                firstFailingPositions[index] = min(firstFailingPositions[index] ?? .max, start)
            }
            return false
        }
    }
}
