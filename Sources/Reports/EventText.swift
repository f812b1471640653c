internal import Conformance

extension Contract {
    /// A short summary of the event in each delivery of the contract, by the name of the delivery.
    var eventTexts: [String: String] {
        var texts: [String: String] = [:]
        for case .deliver(let delivery) in given + steps {
            switch delivery.subject {
            case .event(let spec), .raw(.truncated(let spec, _)): texts[delivery.name] = spec.text
            case .purchasely(let spec): texts[delivery.name] = spec.text
            case .storeEvent(let type): texts[delivery.name] = type
            case .repeats(let name): texts[delivery.name] = texts[name]
            // A body that the contract contains literally may have any content, so it has no
            // summary.
            case .body, .raw(.text): break
            }
        }
        for case .deliver(let delivery) in given + steps where delivery.isConcurrentWithNext {
            texts[delivery.name] =
                (texts[delivery.name] ?? delivery.eventDescription)
                + ", concurrent with the next step"
        }
        return texts
    }
}

extension EventSpec {
    /// The summary of an event: its type, reason and important dates, such as "CANCELLATION
    /// CUSTOMER_SUPPORT until +20d".
    fileprivate var text: String {
        let words = [type, reason, environment == "SANDBOX" ? environment : nil]
        let end = isLifetime ? "forever" : expires.map { "until " + $0.contractText }
        return (words + [end, grace.map { "grace until " + $0.contractText }])
            .compactMap { $0 }.joined(separator: " ")
    }
}

extension PurchaselySpec {
    fileprivate var text: String {
        [
            name, environment == "SANDBOX" ? environment : nil,
            expires.map { "until " + $0.contractText },
        ].compactMap { $0 }.joined(separator: " ")
    }
}
