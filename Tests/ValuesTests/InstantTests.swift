import Testing
import Values

@Suite("Time")
struct InstantTests {
    @Test(
        "the HTTP date of a response",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (1_582_934_400_999, "Sat, 29 Feb 2020 00:00:00 GMT"),
            (1_795_595_802_000, "Wed, 25 Nov 2026 08:36:42 GMT"),
        ]
    )
    func http(milliseconds: Int64, text: String) {
        #expect(Instant(milliseconds: milliseconds).httpText == text)
    }

    @Test(
        "instants are written and read as ISO 8601",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (1_564_162_810_000, "2019-07-26T17:40:10Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"), (-1000, "1969-12-31T23:59:59Z"),
            (7_258_118_400_000, "2200-01-01T00:00:00Z"),
        ] as [(Int64, String)]
    )
    func roundTrips(milliseconds: Int64, text: String) {
        #expect(Instant(milliseconds: milliseconds).description == text)
        #expect(Instant(iso8601: text)?.milliseconds == milliseconds)
    }

    /// Dates that others write: whatever is done with them, nothing traps.
    @Test(
        "no date overflows",
        arguments: [.min, .min + 1, -1_000_000_000_000_001, -1, 0, 1, .max - 1, .max] as [Int64]
    )
    func extremes(milliseconds: Int64) {
        let instant = Instant(milliseconds: milliseconds)
        #expect(!instant.description.isEmpty)
        #expect(instant.preciseText.hasSuffix("Z"))
        for other in [.min, -1, 0, 1, .max] as [Int64] {
            let gap = (instant - Instant(milliseconds: other)).milliseconds
            let exact = Double(milliseconds) - Double(other)
            #expect((gap < 0) == (exact < 0) || exact == 0)
            #expect(abs(Double(gap) - min(max(exact, -0x1p63), 0x1p63)) < 4096)
            let duration = Duration.milliseconds(other)
            #expect(duration.milliseconds == other)
            #expect((instant + duration).milliseconds == milliseconds.addingSaturated(other))
            #expect((instant - duration).milliseconds == milliseconds.subtractingSaturated(other))
        }
        #expect(Duration.seconds(milliseconds).milliseconds.signum() == milliseconds.signum())
        #expect(!Duration.milliseconds(milliseconds).contractText.isEmpty)
        #expect(!Duration.milliseconds(milliseconds).offsetText.isEmpty)
    }

    @Test func `zones, fractions and blanks are understood`() {
        let expected = Instant(milliseconds: 1_564_162_810_250)
        #expect(Instant(iso8601: "2019-07-26T19:40:10.250+02:00") == expected)
        #expect(Instant(iso8601: "2019-07-26 17:40:10.25") == expected)
        #expect(Instant(iso8601: "2019-07-26T13:40:10.250-0400") == expected)
        for text in ["", "2019-13-26T17:40:10Z", "yesterday", "2019-07-26T17:40:10X", "12345678"] {
            #expect(Instant(iso8601: text) == nil, "\(text)")
        }
    }

    @Test func `durations need a unit`() {
        #expect(Duration(contractText: "+5m") == .seconds(300))
        #expect(Duration(contractText: "-30d") == .seconds(-30 * 86_400))
        #expect(Duration(contractText: "250ms") == .milliseconds(250))
        for text in ["5", "", "m", "5 m", "5w", "99999999999d", "1.5s"] {
            #expect(Duration(contractText: text) == nil, "\(text)")
        }
        #expect(Duration.seconds(300).offsetText == "+5m00.000")
    }
}
