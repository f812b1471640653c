import Testing

@testable import Replay

@Suite("Excerpts of a backend's log")
struct LogExcerptTests {
    @Test(
        "an excerpt has the first error and the last lines",
        arguments: [
            ("", 3, ""),
            ("a\n\nb", 3, "a\nb"),
            ("a\nb\nc\nd", 2, "c\nd"),
            ("TypeError: x\nb\nc\nd", 3, "TypeError: x\n…\nc\nd"),
            ("TypeError: x\nb\nc", 2, "TypeError: x\n…\nc"),
            ("TypeError: x\nb", 1, "b"),
            ("a\nfirst error\nsecond error\nd\ne", 3, "first error\n…\nd\ne"),
            ("a\nfirst error\nd\ne", 3, "first error\nd\ne"),
            ("x error\n\tat A\n\tat B\n\tat C\n\tat D\ne\nf", 4, "x error\n\tat A\n\tat B\n…\nf"),
            ("x error\n  at A\ne\nf", 3, "x error\n  at A\n…\nf"),
        ]
    )
    func excerpt(text: String, count: Int, wanted: String) {
        #expect(LogExcerpt.of(text, lineCountMax: count) == wanted)
    }

    @Test func `every excerpt line is a complete log line or an omission mark`() {
        let lines = (0..<200).map { number in
            "\(number) " + String(repeating: "y", count: number * 37 % 3_000)
                + (number == 90 ? " error" : "")
        }
        let excerpt = LogExcerpt.of(lines.joined(separator: "\n"), lineCountMax: 12)
        for line in excerpt.split(separator: "\n").map(String.init) {
            let coversWholeSuite = line == LogExcerpt.gapMarker || lines.contains(line)
            #expect(coversWholeSuite || line.hasSuffix(" more characters)"), "\(line.prefix(20))")
        }
        #expect(excerpt.split(separator: "\n").count == 13)
    }

    @Test(
        "a port conflict is recognized in the output of each runtime",
        arguments: [
            "Error: listen EADDRINUSE: address already in use 127.0.0.1:3000",
            "OSError: [Errno 98] Address already in use",
            "listen tcp :8080: bind: address already in use",
            "Web server failed to start. Port 8080 was already in use.",
            "Failed to bind to address http://127.0.0.1:5000: address already in use.",
        ]
    )
    func portInUse(line: String) {
        #expect(LogExcerpt.showsPortInUse("starting\n\(line)\n"))
        #expect(!LogExcerpt.showsPortInUse("listening on port 3000, 4 workers in use"))
    }
}
