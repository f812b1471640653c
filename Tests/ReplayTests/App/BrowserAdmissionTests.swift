import FakeServers
import Replay
import Testing
import Values

/// Many scenarios wait at once, and few open their first page at once.
@Suite struct BrowserAdmissionTests {
    private let clock = ManualClock()
    private let slowdown = Locked(1.0)

    private func admission(_ concurrentLoadMax: Int) -> BrowserAdmission {
        let slowdown = slowdown
        return BrowserAdmission(concurrentLoadMax: concurrentLoadMax, clock: clock) {
            slowdown.withLock { $0 }
        }
    }

    @Test func `first pages open up to the limit and the others wait`() {
        let admission = admission(2)
        var numbers: [Int] = []
        for _ in 0..<20 {
            guard let one = admission.admitIfPossible(), let two = admission.admitIfPossible()
            else {
                Issue.record("\(numbers.count) were let in")
                return
            }
            #expect(admission.admitIfPossible() == nil)
            for number in [one, two] { admission.recordFirstPageLoaded(number) }
            numbers += [one, two]
        }
        #expect(Set(numbers).count == 40)
    }

    @Test func `a page that closes before it opened frees its slot`() throws {
        let admission = admission(1)
        let first = try #require(admission.admitIfPossible())
        #expect(admission.admitIfPossible() == nil)
        admission.endScenario(first)
        #expect(admission.admitIfPossible() != nil)
    }

    @Test func `a page that waits for its network blocks no other page`() {
        let admission = admission(1)
        #expect(admission.admitIfPossible() != nil)
        clock.now += .milliseconds(1999)
        #expect(admission.admitIfPossible() == nil)
        clock.now += .milliseconds(1)
        #expect(admission.admitIfPossible() != nil)
    }

    @Test func `while pages starve only opened pages continue`() throws {
        let admission = admission(2)
        slowdown.withLock { $0 = 3 }
        let numbers = try (0..<2).map { _ in try #require(admission.admitIfPossible()) }
        for number in numbers { admission.recordFirstPageLoaded(number) }
        #expect(admission.admitIfPossible() == nil)
        admission.endScenario(numbers[0])
        let third = try #require(admission.admitIfPossible())
        admission.recordFirstPageLoaded(third)
        #expect(admission.admitIfPossible() == nil)
        slowdown.withLock { $0 = 2.9 }
        #expect(admission.admitIfPossible() != nil)
    }

    @Test func `a cancelled page does not wait to close`() async {
        let admission = admission(1)
        #expect(admission.admitIfPossible() != nil)
        let task = Task { await admission.waitForAdmission() }
        task.cancel()
        #expect(await task.value == 2)
    }
}
