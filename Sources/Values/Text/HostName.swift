/// Classifies the host of a URL or of an option.
package enum HostName {
    /// Returns whether a host is a name or an address of this machine.
    package static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host) || ipv4Octets(host)?.first == 127
    }

    /// Returns whether the text is a DNS name, an IPv4 address in four decimal numbers, or an IPv6
    /// address without brackets.
    ///
    /// A host whose last label is a number is an IPv4 address (URL Standard, section 3.5). Without
    /// this rule, the system would call `65536` as 0.1.0.0.
    package static func isValid(_ host: String) -> Bool {
        if host.contains(":") { return isIPv6(host) }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = labels.last, labels.allSatisfy(isLabel) else { return false }
        let isNumber = last.utf8.allSatisfy(isDigit) || last.lowercased().hasPrefix("0x")
        return isNumber ? ipv4Octets(host) != nil : true
    }

    /// Returns the four numbers of an IPv4 address; nil for other text.
    private static func ipv4Octets(_ host: String) -> [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let octets = parts.compactMap { $0.utf8.allSatisfy(isDigit) ? UInt8($0) : nil }
        return octets.count == 4 && parts.count == 4 ? octets : nil
    }

    private static func isIPv6(_ host: String) -> Bool {
        host.utf8.count { $0 == UInt8(ascii: ":") } >= 2
            && host.utf8.allSatisfy { byte in
                isDigit(byte) || Character(UnicodeScalar(byte)).isHexDigit
                    || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
            }
    }

    /// Returns whether the text is one part of a DNS name: 1 to 63 letters, digits, hyphens or
    /// underscores (RFC 1035, section 2.3.4; container networks use underscores too).
    private static func isLabel(_ text: Substring) -> Bool {
        (1...63).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                let character = Character(UnicodeScalar(byte))
                return character.isASCII && character.isLetter || isDigit(byte)
                    || character == "-" || character == "_"
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
