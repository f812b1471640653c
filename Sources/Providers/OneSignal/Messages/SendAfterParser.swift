internal import Values

/// A parser for the dates that the member `send_after` of a message accepts (OneSignal fact sheet,
/// section 3).
///
/// Their format is free, and they are in UTC when they name no time zone. Examples:
/// `2015-09-24 14:00:00 GMT-0700`, `Thu Sep 24 2015 14:00:00 GMT-0700 (PDT)`, ISO 8601, and similar
/// notations.
enum SendAfterParser {
    private static let monthNames = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    static func instant(_ text: String) -> Instant? {
        if let instant = Instant(iso8601: text) { return instant }
        var year: Int?
        var month: Int?
        var day: Int?
        var time = "00:00:00"
        var isAfternoon: Bool?
        var timeZoneText = ""
        for word in text.lowercased().split(whereSeparator: { " ,()".contains($0) }) {
            let digits = word.prefix { $0.isASCII && $0.isNumber }
            if let index = monthNames.firstIndex(where: { word.hasPrefix($0) }), digits.isEmpty {
                month = index + 1
            } else if word == "am" || word == "pm" {
                isAfternoon = word == "pm"
            } else if word.hasPrefix("gmt") || word.hasPrefix("utc") || word == "z" {
                timeZoneText = String(word.drop { $0.isLetter })
            } else if (word.hasPrefix("+") || word.hasPrefix("-")), word.count >= 3 {
                timeZoneText = String(word)
            } else if word.contains(":") {
                guard let parsedTime = clockTime(word) else { return nil }
                time = parsedTime
                if word.hasSuffix("am") || word.hasSuffix("pm") {
                    isAfternoon = word.hasSuffix("pm")
                }
            } else if digits.count == 4, word.count > 4 {
                let parts = word.split { "-/".contains($0) }.compactMap { Int($0) }
                guard parts.count == 3 else { return nil }
                (year, month, day) = (parts[0], parts[1], parts[2])
            } else if digits.count == 4 {
                year = Int(digits)
            } else if (1...2).contains(digits.count) {
                day = Int(digits)
            } else if ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].contains(word.prefix(3))
                || !timeZoneText.isEmpty
            {
                // Skips the name of a weekday, and the name of a time zone after the numeric offset
                // of that zone.
                continue
            } else {
                return nil
            }
        }
        guard let year, let month, let day else { return nil }
        if let isAfternoon, let hour = Int(time.prefix(2)) {
            let hourOfDay = hour % 12 + (isAfternoon ? 12 : 0)
            time = (hourOfDay < 10 ? "0" : "") + String(hourOfDay) + time.dropFirst(2)
        }
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return Instant(
            iso8601: "\(year)-\(twoDigits(month))-\(twoDigits(day))T\(time)\(timeZoneText)"
        )
    }

    /// Converts a time of day such as `9:5` to `09:05:00`; returns nil for anything else.
    private static func clockTime(_ word: Substring) -> String? {
        let parts = word.split(separator: ":").map { String($0.prefix { $0.isNumber }) }
        guard parts.count >= 2, parts.allSatisfy({ (1...2).contains($0.count) }) else {
            return nil
        }
        return (parts + ["00"]).prefix(3).map { $0.count == 1 ? "0" + $0 : $0 }
            .joined(separator: ":")
    }
}
