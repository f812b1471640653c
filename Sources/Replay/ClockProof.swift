internal import Conformance
internal import FakeServers

/// Whether the backend's clock is moved by what the profile says: a route that answers 200 and
/// changes nothing would let every case pass that rests on it.
///
/// Somebody's purchase ends in two hours of that clock; three hours later it has to be over.
struct ClockProof: Sendable {
    private enum Outcome: Sendable {
        case unknown
        case known(String?)
    }

    /// What to do about a doubt.
    static let remedy =
        "Set the whole process's clock under 'clock' in assay.yaml, and map 'access' to what the "
        + "backend itself says."
    private static let end: Duration = .seconds(2 * 3600)
    private static let later: Duration = .seconds(3 * 3600)

    let executor: RunExecutor
    let name: String
    let sight: RunRecord.Sight
    private let outcome = Locked(Outcome.unknown)

    /// Why nothing shows that it moves; nil when it does.
    ///
    /// Asked once: no two ask at a time, for a case that rests on it is played alone.
    func doubt() async -> String? {
        if case .known(let text) = outcome.withLock({ $0 }) { return text }
        let text = await examine()
        if !Task.isCancelled { outcome.withLock { $0 = .known(text) } }
        return text
    }

    private func examine() async -> String? {
        guard let (probe, reading) = executor.profile.probe(reading: "access") else {
            return "no probe maps 'access', so nothing shows that the backend's clock moves"
        }
        if case .isFuture = reading.meaning {
            return "'access' is a date that Assay itself compares with a clock, so nothing shows "
                + "that the backend's clock moves"
        }
        var purchase = EventSpec(type: "INITIAL_PURCHASE", user: "ada")
        purchase.expires = Self.end
        let plan = RunPlan(
            steps: [
                .register(user: "ada"),
                .deliver(Delivery(name: "purchase", subject: .event(purchase))),
            ],
            users: ["ada"],
            observes: true
        )
        @Sendable func hasAccess(_ record: RunRecord) -> Bool? {
            guard case .document(let document) = record.state(of: "ada", probe: probe.name),
                let found = document[reading.pointer] ?? reading.absent
            else { return nil }
            let now = record.lastLook
            return StateRule.value(found, reading.meaning, field: "access", at: now)?.bool
        }
        var record = await executor.run(plan, in: name, sight: sight, within: .seconds(60)) {
            hasAccess($0) == true ? .settled : .mayImprove
        }
        guard hasAccess(record) == true else {
            return "a plain purchase gives no access, so nothing shows that the backend's clock "
                + "moves"
        }
        record.plan.clock = [.zero, Self.later]
        let patience = executor.patience(executor.shortPatience(sight.latency))
        while true {
            record = await executor.lookAgain(record, probes: true)
            if case .disturbanceMissed(let text) = record.trouble { return text }
            if hasAccess(record) != true { return nil }
            if patience.isOver || Task.isCancelled { break }
            await patience.pause(.milliseconds(50))
        }
        return "what the profile's 'clock' asks for was done, and a purchase that ended an hour "
            + "ago by that clock still gives access: either the clock does not move, or ends are "
            + "not reached"
    }

    /// What a case says that cannot do without it.
    func finding(_ doubt: String, of contract: Contract) -> Finding {
        Finding(
            .unobservable,
            expected: "the backend's clock can be seen to move",
            actual: doubt,
            remedy: Self.remedy,
            location: contract.location
        )
    }
}
