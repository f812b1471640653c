import Conformance
import FakeServers
import TestSupport
import Testing

@testable import Replay

@Suite("Deadlines of many calls")
struct DeadlinesTests {
    @Test func `who is late is told, and who is over is not`() async {
        let deadlines = Deadlines(RealClock())
        let (told, teller) = AsyncStream.makeStream(of: String.self)
        let now = RealClock().now
        let over = deadlines.add(now) { teller.yield("over") }
        deadlines.remove(over)
        _ = deadlines.add(now + .seconds(3600)) { teller.yield("in an hour") }
        _ = deadlines.add(now + .milliseconds(1)) { teller.yield("late") }
        var first = told.makeAsyncIterator()
        #expect(await first.next() == "late")
        // Nobody looked for a while, and then there is somebody again.
        _ = deadlines.add(RealClock().now) { teller.yield("again") }
        #expect(await first.next() == "again")
    }
}
