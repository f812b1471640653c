/// Functions for the percent-encoded format of URL queries and HTML forms: `a=1&b=2`.
package enum FormText {
    package static func pairs(_ text: some StringProtocol) -> [(name: String, value: String)] {
        String(text).parts(between: "&").filter { !$0.isEmpty }.map { pair in
            let (name, value) = pair.cut(at: "=") ?? (pair, "")
            return (decoded(name), decoded(value))
        }
    }

    /// Percent-decodes a string; bytes that are not valid UTF-8 are replaced.
    package static func decoded(_ text: some StringProtocol, decodesPlusAsSpace: Bool = true)
        -> String
    {
        // Most strings contain nothing to decode.
        guard text.utf8.contains(where: { $0 == 0x25 || decodesPlusAsSpace && $0 == 0x2b }) else {
            return String(text)
        }
        return String(decoding: bytes(text, decodesPlusAsSpace: decodesPlusAsSpace), as: UTF8.self)
    }

    /// Percent-decodes a string to bytes; a percent sign that is not followed by two hex digits is
    /// kept.
    package static func bytes(_ text: some StringProtocol, decodesPlusAsSpace: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var remainingBytes = Array(text.utf8)[...]
        while let byte = remainingBytes.popFirst() {
            if byte == UInt8(ascii: "%"), remainingBytes.count >= 2,
                let value = UInt8(
                    String(decoding: remainingBytes.prefix(2), as: UTF8.self),
                    radix: 16
                )
            {
                bytes.append(value)
                remainingBytes = remainingBytes.dropFirst(2)
            } else {
                bytes.append(decodesPlusAsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return bytes
    }
}

extension String {
    /// The string with every byte outside RFC 3986's unreserved set percent-encoded.
    package var percentEncoded: String {
        var output = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                output.append(Character(Unicode.Scalar(byte)))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                output += byte < 0x10 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return output
    }
}
