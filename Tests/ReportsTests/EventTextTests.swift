import Contracts
import Providers
import Testing
import TestSupport

@testable import Reports

/// What a report says of a delivery beside its name.
struct EventTextTests {
    @Test func `an event sent with the next step is marked, and a repeat names its original`() {
        var purchase = Delivery(
            name: "purchase",
            subject: .event(EventSpec(type: .documented(.initialPurchase), user: "ada"))
        )
        purchase.isConcurrentWithNext = true
        var text = Delivery(name: "text", subject: .raw(.text("{}")))
        text.isConcurrentWithNext = true
        let contract = SmallContracts.contract([
            .deliver(purchase), .deliver(text),
            .deliver(Delivery(name: "again", subject: .repeats("purchase"))),
        ])
        let texts = contract.eventTexts
        #expect(texts["purchase"]?.hasPrefix("INITIAL_PURCHASE") == true)
        #expect(texts["again"] == texts["purchase"])
        #expect(contract.concurrentDeliveries == ["purchase", "text"])
    }
}
