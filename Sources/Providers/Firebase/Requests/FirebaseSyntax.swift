/// Checks of the syntax of values in requests, as the Firebase emulator makes them.
enum FirebaseSyntax {
    static func isEmail(_ text: String) -> Bool {
        let addressParts = text.split(separator: "@", omittingEmptySubsequences: false)
        return addressParts.count == 2 && addressParts.allSatisfy { !$0.isEmpty }
    }

    static func isPhone(_ text: String) -> Bool { text.hasPrefix("+") && text.count > 1 }

    /// Returns whether a string is an absolute URL: a scheme, a colon, and a rest of more than two
    /// characters.
    static func isAbsoluteURL(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return false }
        let scheme = text[..<colon]
        return scheme.first?.isLetter == true
            && scheme.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
            }
            && text[text.index(after: colon)...].count > 2
    }
}
