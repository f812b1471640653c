extension Duration {
    /// Returns a duration of that many days, clamped to the range of `Int64` milliseconds.
    package static func days(_ count: some BinaryInteger) -> Duration {
        .milliseconds(Int64(clamping: count).multiplyingSaturated(86_400_000))
    }

    /// Returns a duration of that many hours, clamped to the range of `Int64` milliseconds.
    package static func hours(_ count: some BinaryInteger) -> Duration {
        .milliseconds(Int64(clamping: count).multiplyingSaturated(3_600_000))
    }

    /// The duration in whole milliseconds, rounded toward zero and clamped to the range of `Int64`.
    package var milliseconds: Int64 {
        // `Duration.components` traps for a duration beyond `Int64` seconds, which a file may
        // contain.
        Int64(clamping: attoseconds / 1_000_000_000_000_000)
    }

    /// Parses a duration as contracts and profiles write it: `200ms`, `2s`, `5m`, `1h`, `30d`.
    ///
    /// A sign may precede the number. The result is nil when the unit is missing or unknown.
    package init?(contractText text: String) {
        var unparsedText = Substring(text)
        var sign: Int64 = 1
        if unparsedText.hasPrefix("+") {
            unparsedText.removeFirst()
        } else if unparsedText.hasPrefix("-") {
            sign = -1
            unparsedText.removeFirst()
        }
        let digits = unparsedText.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int64(digits) else { return nil }
        let unitInMilliseconds: Int64? =
            switch unparsedText.dropFirst(digits.count) {
            case "ms": 1
            case "s": 1000
            case "m": 60_000
            case "h": 3_600_000
            case "d": 86_400_000
            default: nil
            }
        // The limit of about 3,000 years keeps the number of milliseconds within `Int64`.
        guard let unitInMilliseconds, count < 100_000_000_000_000 / unitInMilliseconds else {
            return nil
        }
        self = .milliseconds(sign * count * unitInMilliseconds)
    }

    /// The duration in the notation of contracts, with a sign and in the largest unit that divides
    /// it: `+5m`, `-200ms`.
    package var contractText: String {
        let totalMilliseconds = milliseconds
        let units: [(Int64, String)] = [
            (86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms"),
        ]
        guard totalMilliseconds != 0,
            let (size, name) = units.first(where: { totalMilliseconds % $0.0 == 0 })
        else {
            return "0s"
        }
        return "\(totalMilliseconds > 0 ? "+" : "")\(totalMilliseconds / size)\(name)"
    }

    /// The duration in the notation of contracts, without a plus sign: `5m`.
    package var unsignedText: String { String(contractText.drop { $0 == "+" }) }

    /// The duration as an offset in at most two units, rounded toward zero: `+30d`, `+1h5m`,
    /// `+1.25s`.
    package var briefOffsetText: String {
        let units: [(UInt64, String)] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m")]
        let magnitude = milliseconds.magnitude
        let sign = milliseconds < 0 ? "-" : "+"
        guard let index = units.firstIndex(where: { magnitude >= $0.0 }) else {
            return sign + Self.secondsText(magnitude)
        }
        let (size, name) = units[index]
        let (nextSize, nextName) = index + 1 < units.count ? units[index + 1] : (1000, "s")
        let rest = magnitude % size / nextSize
        return sign + "\(magnitude / size)\(name)" + (rest > 0 ? "\(rest)\(nextName)" : "")
    }

    /// Returns a number of milliseconds in seconds, without zeros at the end: `0s`, `1.25s`.
    private static func secondsText(_ milliseconds: UInt64) -> String {
        let digits = String(milliseconds % 1000)
        let fraction = String(repeating: "0", count: 3 - digits.count) + digits
        let decimals = String(fraction.reversed().drop { $0 == "0" }.reversed())
        return "\(milliseconds / 1000)" + (decimals.isEmpty ? "" : ".\(decimals)") + "s"
    }

    /// The duration as an offset in a printed timeline, in minutes and seconds: `+5m00.000`.
    package var offsetText: String {
        let totalMilliseconds = milliseconds
        let magnitude = totalMilliseconds.magnitude
        func padded(_ number: UInt64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return (totalMilliseconds < 0 ? "-" : "+") + "\(magnitude / 60_000)m"
            + padded(magnitude / 1000 % 60, 2) + "." + padded(magnitude % 1000, 3)
    }
}
