import Reports
import Testing

/// A person who waits sees that something happens, and a log stays short.
@Suite("Slow starts")
struct SlowStartsTests {
    @Test func `a long wait has a line after twice the time, and its reason once`() {
        var slowStarts = SlowStarts()
        let lines = stride(from: Int64(3), through: 120, by: 3).compactMap {
            slowStarts.line(after: $0, reason: "the connection was refused")
        }
        #expect(
            lines == [
                "waiting until the backend has started, 3 s: the connection was refused",
                "waiting until the backend has started, 12 s",
                "waiting until the backend has started, 24 s",
                "waiting until the backend has started, 48 s",
                "waiting until the backend has started, 96 s",
            ]
        )
    }

    @Test func `each further start is reported only if it takes long`() {
        var slowStarts = SlowStarts()
        #expect(slowStarts.line(after: 3, reason: "refused") != nil)
        for _ in 0..<5 {
            for seconds in [Int64(3), 6, 9] {
                #expect(slowStarts.line(after: seconds, reason: "refused") == nil)
            }
        }
        #expect(
            slowStarts.line(after: 12, reason: "refused")
                == "waiting until the backend has started, 12 s"
        )
    }

    @Test func `a new reason is named`() {
        var slowStarts = SlowStarts()
        _ = slowStarts.line(after: 3, reason: "refused")
        #expect(slowStarts.line(after: 12, reason: "503")?.hasSuffix(", 12 s: 503") == true)
        #expect(slowStarts.line(after: 24, reason: "")?.hasSuffix(", 24 s") == true)
    }
}
