internal import Contracts
internal import Providers
internal import Values

extension Contract {
    /// A short summary of the event in each delivery of the contract, by the name of the delivery.
    var eventTexts: [String: String] {
        var textsByDelivery: [String: String] = [:]
        for case .deliver(let delivery) in given + steps {
            switch delivery.subject {
            case .event(let event), .raw(.truncated(let event, _)):
                textsByDelivery[delivery.name] = event.summary
            case .storeEvent(let type): textsByDelivery[delivery.name] = type
            case .repeats(let name): textsByDelivery[delivery.name] = textsByDelivery[name]
            // A body that the contract contains literally may have any content, so it has no
            // summary.
            case .body, .raw(.text): break
            }
        }
        return textsByDelivery
    }

    /// The names of the deliveries that are sent at the same time as the next step.
    var concurrentDeliveries: Set<String> {
        Set(
            (given + steps).compactMap { step in
                guard case .deliver(let delivery) = step, delivery.isConcurrentWithNext else {
                    return nil
                }
                return delivery.name
            }
        )
    }
}
