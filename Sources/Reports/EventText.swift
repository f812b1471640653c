internal import Contracts
internal import Values

extension Contract {
    /// A short summary of the event in each delivery of the contract, by the name of the delivery.
    var eventTexts: [String: String] {
        var textsByDelivery: [String: String] = [:]
        for case .deliver(let delivery) in given + steps {
            switch delivery.subject {
            case .event(let spec), .raw(.truncated(let spec, _)):
                textsByDelivery[delivery.name] = spec.text
            case .purchasely(let spec): textsByDelivery[delivery.name] = spec.text
            case .storeEvent(let type): textsByDelivery[delivery.name] = type
            case .repeats(let name): textsByDelivery[delivery.name] = textsByDelivery[name]
            // A body that the contract contains literally may have any content, so it has no
            // summary.
            case .body, .raw(.text): break
            }
        }
        for case .deliver(let delivery) in given + steps where delivery.isConcurrentWithNext {
            textsByDelivery[delivery.name] =
                (textsByDelivery[delivery.name] ?? delivery.eventDescription)
                + ", concurrent with the next step"
        }
        return textsByDelivery
    }
}

extension EventSpec {
    /// The summary of an event: its type, reason and important dates, such as "CANCELLATION
    /// CUSTOMER_SUPPORT until +20d".
    fileprivate var text: String {
        let descriptionParts = [
            type.rawValue, reason, environment == "SANDBOX" ? environment : nil,
        ]
        let expirationText = isLifetime ? "forever" : expires.map { "until " + $0.contractText }
        return
            (descriptionParts + [expirationText, grace.map { "grace until " + $0.contractText }])
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
