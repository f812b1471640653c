/// `a=1&b=2`, percent-encoded, as queries and forms are written.
package enum FormText {
    package static func pairs(_ text: some StringProtocol) -> [(name: String, value: String)] {
        String(text).parts(between: "&").filter { !$0.isEmpty }.map { pair in
            let (name, value) = pair.cut(at: "=") ?? (pair, "")
            return (decoded(name), decoded(value))
        }
    }

    /// Bytes that are no UTF-8 are replaced.
    package static func decoded(_ text: some StringProtocol, plusIsBlank: Bool = true) -> String {
        // Most texts are their own.
        guard text.utf8.contains(where: { $0 == 0x25 || plusIsBlank && $0 == 0x2b }) else {
            return String(text)
        }
        return String(decoding: bytes(text, plusIsBlank: plusIsBlank), as: UTF8.self)
    }

    /// Percent signs that introduce no two hex digits stand for themselves.
    package static func bytes(_ text: some StringProtocol, plusIsBlank: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(plusIsBlank && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return bytes
    }
}

extension String {
    /// The text with every byte outside RFC 3986's unreserved set percent-encoded.
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
