import FakeServers
import Testing
import TestSupport

@testable import Replay

@Suite("Deadlines of concurrent calls")
struct DeadlinesTests {
    @Test func `late calls are reported and finished calls are not`() async {
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
