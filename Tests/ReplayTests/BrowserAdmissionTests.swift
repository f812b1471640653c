import FakeServers
import Replay
import Testing

/// Many scenarios wait at once, and few open their first page at once.
@Suite struct BrowserAdmissionTests {
    private let clock = HandClock()
    private let slowdown = Locked(1.0)

    private func admission(_ openingMax: Int) -> BrowserAdmission {
        let slowdown = slowdown
        return BrowserAdmission(openingMax: openingMax, clock: clock) { slowdown.withLock { $0 } }
    }

    @Test func `as many first pages are opened at once as may be, and any number waits`() {
        let admission = admission(2)
        var numbers: [Int] = []
        for _ in 0..<20 {
            guard let one = admission.admitted(), let two = admission.admitted() else {
                Issue.record("\(numbers.count) were let in")
                return
            }
            #expect(admission.admitted() == nil)
            for number in [one, two] { admission.isOpen(number) }
            numbers += [one, two]
        }
        #expect(Set(numbers).count == 40)
    }

    @Test func `who leaves before its page is there makes room`() throws {
        let admission = admission(1)
        let first = try #require(admission.admitted())
        #expect(admission.admitted() == nil)
        admission.leave(first)
        #expect(admission.admitted() != nil)
    }

    @Test func `a page that waits for its network holds nobody up`() {
        let admission = admission(1)
        #expect(admission.admitted() != nil)
        clock.now += .milliseconds(1999)
        #expect(admission.admitted() == nil)
        clock.now += .milliseconds(1)
        #expect(admission.admitted() != nil)
    }

    @Test func `while pages starve only as many go on as opened`() throws {
        let admission = admission(2)
        slowdown.withLock { $0 = 3 }
        let numbers = try (0..<2).map { _ in try #require(admission.admitted()) }
        for number in numbers { admission.isOpen(number) }
        #expect(admission.admitted() == nil)
        admission.leave(numbers[0])
        let third = try #require(admission.admitted())
        admission.isOpen(third)
        #expect(admission.admitted() == nil)
        slowdown.withLock { $0 = 2.9 }
        #expect(admission.admitted() != nil)
    }

    @Test func `who is cancelled need not wait to end`() async {
        let admission = admission(1)
        #expect(admission.admitted() != nil)
        let task = Task { await admission.enter() }
        task.cancel()
        #expect(await task.value == 2)
    }
}
