extension CaseEvidence {
    /// What the case asks about and no probe shows, with the line of profile that would show it.
    ///
    /// Every field is optional, so such a case may pass by its others; it then says nothing about its
    /// clause.
    package var unseen: [String] {
        let asked =
            expectation.states.flatMap(\.fields).map(\.name).filter { $0 != "exists" }
            + expectation.comparedFields
        let lines = Set(asked).sorted().filter { profile.probe(reading: $0) == nil }.map {
            "no probe maps '\($0)'; add '\($0): /…' under 'probes: … read:' in assay.yaml"
        }
        let kill =
            killHits == false
            ? "the backend was killed after its answer, so nothing was interrupted" : nil
        return lines + [unseenState, kill].compactMap { $0 }
    }

    /// Whether every kill that was to interrupt a delivery came before its answer; nil where none
    /// was to.
    ///
    /// A backend that has answered has done what it promises to have done: such a kill shows no
    /// more than a restart between two events.
    package var killHits: Bool? {
        let interrupted = plan.subject.deliveries.filter { $0.crash?.interrupts ?? false }
        guard !interrupted.isEmpty else { return nil }
        return interrupted.allSatisfy { delivery in
            let purpose = Exchange.Purpose.delivery(name: delivery.name, attempt: 1)
            return subject.exchanges.first { $0.purpose == purpose }?.response == nil
        }
    }

    /// Why two runs whose whole answers are compared are alike for want of answers; nil where a
    /// purchase changes one.
    private var unseenState: String? {
        let compared = expectation.compared
        guard expectation.relation != nil, expectation.comparedFields.isEmpty,
            !compared.isDisjoint(with: [.state, .fields, .kept]), !sight.seesState
        else { return nil }
        return profile.probes.isEmpty
            ? "no probe shows state; add a read-only route or a command under 'probes' in assay.yaml"
            : "no probe shows a plain purchase; check the paths and ids of 'probes' in assay.yaml"
    }
}
