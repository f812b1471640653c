extension Instant {
    /// Returns the smallest difference between two times that the notation of a time can show.
    ///
    /// The result is a millisecond for a number of milliseconds. For a number of seconds and for
    /// ISO 8601, it follows from the digits after the decimal point: a second without any, a tenth
    /// of a second with one digit, and at least a millisecond.
    ///
    /// - Parameter value: A time that `init(timeValue:)` parses.
    /// - Returns: The resolution, at least a millisecond.
    package static func resolution(ofTimeValue value: JSONValue) -> Duration {
        switch value {
        case .string(let text): resolution(ofDigitsAfterPointIn: text)
        case .number(let number):
            if let double = number.double, double >= 1e11 {
                .milliseconds(1)
            } else {
                resolution(ofDigitsAfterPointIn: number.description)
            }
        case .null, .bool, .array, .object: .milliseconds(1)
        }
    }

    private static func resolution(ofDigitsAfterPointIn text: String) -> Duration {
        let digits = text.drop { $0 != "." && $0 != "," }.dropFirst().prefix { $0.isNumber }
        return switch digits.count {
        case 0: .seconds(1)
        case 1: .milliseconds(100)
        case 2: .milliseconds(10)
        default: .milliseconds(1)
        }
    }
}
