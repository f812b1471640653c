/// A point in time, in milliseconds since 1970 UTC, which is the unit of the providers' dates.
///
/// Arithmetic beyond the range of `Int64` saturates, because a file or a provider's event may
/// contain any number as a date.
package struct Instant: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    package var milliseconds: Int64

    package init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package var seconds: Int64 {
        milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
    }

    /// The range of instants that are accepted from callers, imported files and saved states:
    /// 2000-01-01 to 2100-01-01.
    ///
    /// A date outside this range usually has the wrong unit: seconds or microseconds instead of
    /// milliseconds.
    package static let acceptedRange =
        Instant(milliseconds: 946_684_800_000)...Instant(milliseconds: 4_102_444_800_000)

    /// The text of the accepted range `acceptedRange`, as error messages print it.
    package static let acceptedRangeText = "2000-01-01 to 2100-01-01"

    package static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }

    package static func + (instant: Instant, duration: Duration) -> Instant {
        Instant(milliseconds: instant.milliseconds.addingSaturated(duration.milliseconds))
    }

    package static func - (instant: Instant, duration: Duration) -> Instant {
        Instant(milliseconds: instant.milliseconds.subtractingSaturated(duration.milliseconds))
    }

    package static func - (left: Instant, right: Instant) -> Duration {
        .milliseconds(left.milliseconds.subtractingSaturated(right.milliseconds))
    }

    /// The instant as ISO 8601 in UTC without a fraction, such as `2019-07-26T17:40:10Z`.
    ///
    /// RevenueCat's REST API v1 writes dates in this way (RevenueCat fact sheet, section 4.1).
    package var description: String {
        let (date, time) = (calendarDate, seconds - daysSinceEpoch * 86_400)
        func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let year = String(date.year)
        let padding = String(repeating: "0", count: max(0, 4 - year.count))
        return "\(padding)\(year)-\(twoDigits(date.month))-\(twoDigits(date.day))"
            + "T\(twoDigits(time / 3600)):\(twoDigits(time / 60 % 60)):\(twoDigits(time % 60))Z"
    }

    /// The instant as ISO 8601 in UTC with milliseconds, such as `2026-01-02T03:04:05.678Z`.
    package var preciseText: String {
        let fraction = String(1000 + (milliseconds % 1000 + 1000) % 1000).dropFirst()
        return description.dropLast() + "." + fraction + "Z"
    }

    /// The instant in the format of HTTP's `Date` header, such as `Fri, 26 Jul 2019 17:40:10 GMT`
    /// (RFC 9110, section 5.6.7).
    package var httpText: String {
        let (date, time) = (calendarDate, seconds - daysSinceEpoch * 86_400)
        func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        // Day 0, 1970-01-01, was a Thursday.
        let weekday = Int((daysSinceEpoch % 7 + 7) % 7)
        let weekdayNames = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let monthNames = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let year = String(10_000 + date.year).dropFirst()
        return
            "\(weekdayNames[weekday]), \(twoDigits(date.day)) \(monthNames[Int(date.month) - 1]) \(year) "
            + "\(twoDigits(time / 3600)):\(twoDigits(time / 60 % 60)):\(twoDigits(time % 60)) GMT"
    }

    private var daysSinceEpoch: Int64 {
        seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    }

    /// The year of the instant in UTC.
    package var year: Int { Int(calendarDate.year) }

    /// The year, month and day in UTC, computed from the number of days with the calendar's
    /// 400-year cycles.
    private var calendarDate: (year: Int64, month: Int64, day: Int64) {
        let shiftedDays = daysSinceEpoch + 719_468
        let era = (shiftedDays >= 0 ? shiftedDays : shiftedDays - 146_096) / 146_097
        let dayOfEra = shiftedDays - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * monthIndex + 2) / 5 + 1
        )
    }

    /// Parses a date and time in ISO 8601 with a time zone: `2026-09-24T12:00:00Z`,
    /// `…12:00:00.123+02:00`.
    ///
    /// A space instead of `T` and a missing time zone, which means UTC, are accepted, because
    /// databases print such dates.
    package init?(iso8601 text: String) {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int64? {
            guard range.upperBound <= bytes.count else { return nil }
            let digits = bytes[range]
            guard digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int64($1 - 48) }
        }
        guard bytes.count >= 19, bytes[4] == 45, bytes[7] == 45, bytes[13] == 58, bytes[16] == 58,
            bytes[10] == UInt8(ascii: "T") || bytes[10] == 0x20,
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            (1...12).contains(month), (1...31).contains(day), hour < 25, minute < 60, second < 61
        else { return nil }
        var index = 19
        var fraction: Int64 = 0
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            var scale: Int64 = 100
            while index < bytes.count, (48...57).contains(bytes[index]) {
                fraction += Int64(bytes[index] - 48) * scale
                scale /= 10
                index += 1
            }
        }
        var offsetMinutes: Int64 = 0
        switch String(decoding: bytes[index...], as: UTF8.self) {
        case "", "Z", "z": break
        case let timeZoneOffsetText:
            let digits = timeZoneOffsetText.utf8.filter { (48...57).contains($0) }.map {
                Int64($0 - 48)
            }
            guard timeZoneOffsetText.hasPrefix("+") || timeZoneOffsetText.hasPrefix("-"),
                digits.count == 4 || digits.count == 2
            else { return nil }
            offsetMinutes = (digits[0] * 10 + digits[1]) * 60
            if digits.count == 4 { offsetMinutes += digits[2] * 10 + digits[3] }
            if timeZoneOffsetText.hasPrefix("-") { offsetMinutes.negate() }
        }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days =
            era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
        let totalSeconds = days * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
        milliseconds = totalSeconds * 1000 + fraction
    }
}

extension Instant {
    /// Parses a time in a format that databases and APIs use: ISO 8601, or seconds or milliseconds
    /// since 1970; nil for other values.
    package init?(timeValue value: JSONValue) {
        switch value {
        case .string(let text):
            guard (19...40).contains(text.utf8.count), let instant = Instant(iso8601: text) else {
                return nil
            }
            self = instant
        case .number(let number):
            guard let double = number.double, double > 1e9, double < 1e14 else { return nil }
            self.init(milliseconds: Int64((double < 1e11 ? double * 1000 : double).rounded()))
        case .null, .bool, .array, .object: return nil
        }
    }
}
