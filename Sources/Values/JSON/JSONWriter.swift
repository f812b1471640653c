extension JSONValue {
    /// The value as compact JSON in UTF-8; its order of members and its spelling of numbers are
    /// kept.
    package var bytes: [UInt8] {
        var output: [UInt8] = []
        write(into: &output, indent: nil, level: 0)
        return output
    }

    /// The value as compact JSON text on one line.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value as JSON text for readers, indented by two spaces for each level.
    package var prettyText: String {
        var output: [UInt8] = []
        write(into: &output, indent: 2, level: 0)
        return String(decoding: output, as: UTF8.self)
    }

    private func write(into output: inout [UInt8], indent: Int?, level: Int) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let flag): output.append(contentsOf: (flag ? "true" : "false").utf8)
        case .number(let number): output.append(contentsOf: number.description.utf8)
        case .string(let text): Self.write(text, into: &output)
        case .array(let elements):
            Self.write(elements, "[", "]", into: &output, indent, level) {
                $0.write(into: &$1, indent: indent, level: level + 1)
            }
        case .object(let object):
            Self.write(object.members, "{", "}", into: &output, indent, level) {
                Self.write($0.key, into: &$1)
                $1.append(contentsOf: (indent == nil ? ":" : ": ").utf8)
                $0.value.write(into: &$1, indent: indent, level: level + 1)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element],
        _ open: String,
        _ close: String,
        into output: inout [UInt8],
        _ indent: Int?,
        _ level: Int,
        element: (Element, inout [UInt8]) -> Void
    ) {
        output.append(contentsOf: open.utf8)
        for (index, item) in elements.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            if let indent { breakLine(into: &output, indent * (level + 1)) }
            element(item, &output)
        }
        if let indent, !elements.isEmpty { breakLine(into: &output, indent * level) }
        output.append(contentsOf: close.utf8)
    }

    private static func breakLine(into output: inout [UInt8], _ spaces: Int) {
        output.append(0x0a)
        output.append(contentsOf: repeatElement(0x20, count: spaces))
    }

    private static func write(_ text: String, into output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        // Most strings need no escape and are written in one piece.
        let isPlain: Bool? = text.utf8.withContiguousStorageIfAvailable { bytes in
            for byte in bytes where byte < 0x20 || byte == 0x22 || byte == 0x5c { return false }
            output.append(contentsOf: bytes)
            return true
        }
        if isPlain == true {
            output.append(UInt8(ascii: "\""))
            return
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): output.append(contentsOf: "\\\"".utf8)
            case UInt8(ascii: "\\"): output.append(contentsOf: "\\\\".utf8)
            case 0x0a: output.append(contentsOf: "\\n".utf8)
            case 0x0d: output.append(contentsOf: "\\r".utf8)
            case 0x09: output.append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                output.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
                output.append(contentsOf: String(byte, radix: 16).utf8)
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}
