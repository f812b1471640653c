import Contracts
import Replay
import Testing

/// The first thing that is wrong, as `assay init` states it.
@Suite("The defect of a discovered profile")
struct ProfileDefectTests {
    @Test("a refused event asks for a value of the environment only if the backend fails")
    func refusedEvent() {
        for status in 300..<600 {
            let defect = ProfileDefect.refusedEvent(
                path: "/hook",
                title: "RevenueCat",
                status: status
            )
            #expect(
                defect.text.hasPrefix("POST /hook returns \(status) for an event of RevenueCat.")
            )
            #expect(defect.lines.isEmpty == (400..<500).contains(status))
        }
    }

    @Test("a refused purchase names its route, its status and the setting of the user")
    func refusedPurchase() {
        for status in 400..<600 {
            let defect = ProfileDefect.refusedPurchase(path: "/hook", status: status)
            #expect(defect.text.contains("POST /hook accepts a test event"))
            #expect(defect.text.contains("returns \(status) for the purchase of a user"))
            #expect(defect.text.contains("'users: create'"))
            #expect(defect.lines.isEmpty)
        }
    }
}
