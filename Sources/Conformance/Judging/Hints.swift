/// What the evidence shows beside the findings, and may be their cause.
extension CaseEvidence {
    package var hints: [String] { [twoKnownIDs].compactMap { $0 } }

    /// An event that names two ids that the app had announced before: whoever looks for one of them
    /// finds half a person.
    private var twoKnownIDs: String? {
        let names = subject.namespace
        let ids = subject.plan.users.flatMap { [names.id(of: $0), names.anonymousID(of: $0)] }
        var announced: Set<String> = []
        for exchange in subject.exchanges where exchange.to == .backend {
            guard exchange.from != .assay || exchange.purpose.isRegistration,
                let texts = (try? JSONValue(parsing: exchange.request.body))?.texts
            else { continue }
            let named = Set(ids).intersection(texts)
            guard case .delivery(let name, _) = exchange.purpose else {
                announced.formUnion(named)
                continue
            }
            // A transfer names two persons, who have to stay two.
            if isTransfer(name) { continue }
            let known = named.intersection(announced).sorted()
            if known.count > 1 {
                return "'\(name)' names two ids that the app had announced, "
                    + known.joined(separator: " and ")
                    + ": they are one person's, and both have to lead to the same row"
            }
        }
        return nil
    }

    /// Whether it is one, or the same once more.
    private func isTransfer(_ name: String) -> Bool {
        guard let delivery = subject.plan.deliveries.first(where: { $0.name == name }) else {
            return false
        }
        guard case .repeats(let original) = delivery.subject else { return delivery.isTransfer }
        return isTransfer(original)
    }
}

extension Exchange.Purpose {
    fileprivate var isRegistration: Bool {
        if case .registration = self { true } else { false }
    }
}
