internal import Conformance

extension Contract {
    /// What each of its deliveries says, in few words, by the delivery's name.
    var eventTexts: [String: String] {
        var texts: [String: String] = [:]
        for case .deliver(let delivery) in given + steps {
            switch delivery.subject {
            case .event(let spec), .raw(.truncated(let spec, _)): texts[delivery.name] = spec.text
            case .purchasely(let spec): texts[delivery.name] = spec.text
            case .told(let type): texts[delivery.name] = type
            case .repeats(let name): texts[delivery.name] = texts[name]
            // What a contract writes out may be anything.
            case .body, .raw(.text): break
            }
        }
        for case .deliver(let delivery) in given + steps where delivery.isWithNext {
            texts[delivery.name] = (texts[delivery.name] ?? delivery.what) + ", beside the next"
        }
        return texts
    }
}

extension EventSpec {
    /// Type, reason and the dates that decide: "CANCELLATION CUSTOMER_SUPPORT until +20d".
    fileprivate var text: String {
        let words = [type, reason, environment == "SANDBOX" ? environment : nil]
        let end = isLifetime ? "for ever" : expires.map { "until " + $0.contractText }
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
