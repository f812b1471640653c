internal import Contracts
internal import Providers
internal import Values

/// Hints: observations in the evidence of a case that may explain its findings.
extension CaseEvidence {
    package var hints: [String] {
        [hintAboutTwoKnownIDs, StoredAccessFlag.question(about: subject, profile)]
            .compactMap { $0 }
    }

    /// A hint about an event that contains two IDs which the app had registered before; nil without
    /// such an event.
    ///
    /// A backend that looks up only one of the two IDs finds only part of the user's data.
    private var hintAboutTwoKnownIDs: String? {
        let runNamespace = subject.namespace
        let ids = subject.plan.users.flatMap {
            [runNamespace.id(of: $0), runNamespace.anonymousID(of: $0)]
        }
        var registeredIDs: Set<String> = []
        for exchange in subject.exchanges where exchange.to == .backend {
            guard exchange.from != .assay || exchange.purpose.isRegistration,
                let texts = exchange.request.bodyJSON?.texts
            else { continue }
            let idsInRequest = Set(ids).intersection(texts)
            guard case .delivery(let name, _) = exchange.purpose else {
                registeredIDs.formUnion(idsInRequest)
                continue
            }
            // A TRANSFER event concerns two users, who have to stay separate.
            if isTransfer(name) { continue }
            let knownIDs = idsInRequest.intersection(registeredIDs).sorted()
            if knownIDs.count > 1 {
                return "'\(name)' contains two IDs that the app had registered before, "
                    + knownIDs.joined(separator: " and ")
                    + "; both belong to the same user and must lead to the same record"
            }
        }
        return nil
    }

    /// Whether the delivery of that name is a TRANSFER event or a repetition of one.
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
