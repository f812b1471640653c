internal import Contracts
internal import Values

extension CaseEvidence {
    /// Descriptions of the parts of the case that no probe can observe, each with the profile entry
    /// that would make it observable.
    ///
    /// Mappings of fields are optional, so such a case may pass on its other fields. It then proves
    /// nothing about its clause.
    package var unobservedChecks: [String] {
        let checkedFields =
            expectation.states.flatMap(\.fields).map(\.name).filter { $0 != "exists" }
            + expectation.comparedFields
        let unprobedFieldLines = Set(checkedFields).sorted().filter {
            profile.probe(reading: $0) == nil
        }.map {
            "no probe maps '\($0)'; add '\($0): /…' under 'probes: … read:' in assay.yaml"
        }
        let killCheckLine =
            didKillInterruptDelivery == false
            ? "the backend was killed after its response, so the kill interrupted nothing" : nil
        return unprobedFieldLines + inapplicableChecks
            + [unobservedStateReason, killCheckLine].compactMap { $0 }
    }

    /// Whether every kill of the backend that should interrupt a delivery came before the response
    /// to that delivery.
    ///
    /// The value is nil for a case without such a kill. After its response, the backend has
    /// confirmed its work. A later kill therefore shows no more than a restart between two events.
    package var didKillInterruptDelivery: Bool? {
        let deliveriesWithKill = plan.subject.deliveries.filter {
            $0.crash?.killsBeforeResponse ?? false
        }
        guard !deliveriesWithKill.isEmpty else { return nil }
        return deliveriesWithKill.allSatisfy { delivery in
            let purpose = Exchange.Purpose.delivery(name: delivery.name, attempt: 1)
            return subject.exchanges.first { $0.purpose == purpose }?.response == nil
        }
    }

    /// The reason why comparing whole probe responses is meaningless; nil when a purchase changes a
    /// probe's response.
    private var unobservedStateReason: String? {
        let compared = expectation.compared
        guard expectation.relation != nil, expectation.comparedFields.isEmpty,
            !compared.isDisjoint(with: [.state, .fields, .kept]),
            !observability.areProbeChangesObservable
        else { return nil }
        return profile.probes.isEmpty
            ? "no probe shows state; add a read-only route or a command under 'probes' in assay.yaml"
            : "no probe shows a plain purchase; check the paths and IDs of 'probes' in assay.yaml"
    }
}
