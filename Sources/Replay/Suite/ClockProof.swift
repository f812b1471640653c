internal import Contracts
internal import Judging
internal import Providers
internal import Values

/// Proves that the command or request under 'clock' in the profile moves the backend's clock.
///
/// The proof uses a purchase that ends after two hours. When the clock is set three hours ahead,
/// the purchase must no longer give access.
///
/// Without this proof, a route could return 200 without any effect, and every case that depends on
/// the clock would pass.
struct ClockProof: Sendable {
    private enum Outcome: Sendable {
        case unknown
        case checkedWithReason(String?)
    }

    /// The remedy in the finding that reports that the backend's clock does not provably move.
    static let remedy =
        "Set the clock of the whole process under 'clock' in assay.yaml, and map 'access' to a "
        + "value that the backend itself decides."
    private static let purchaseDuration: Duration = .seconds(2 * 3600)
    private static let clockAdvance: Duration = .seconds(3 * 3600)

    let executor: RunExecutor
    let name: String
    let observability: RunRecord.Observability
    private let outcome = Locked(Outcome.unknown)

    /// Returns the reason why nothing shows that the backend's clock moves; nil when the clock
    /// moves.
    ///
    /// The check is made once. No two checks run at the same time, because a case that depends on
    /// the clock runs exclusively.
    func unprovenReason() async -> String? {
        if case .checkedWithReason(let text) = outcome.withLock({ $0 }) { return text }
        let text = await findUnprovenReason()
        if !Task.isCancelled { outcome.withLock { $0 = .checkedWithReason(text) } }
        return text
    }

    private func findUnprovenReason() async -> String? {
        guard let (probe, reading) = executor.profile.probe(reading: "access") else {
            return "no probe maps 'access', so nothing shows that the backend's clock moves"
        }
        if case .isFuture = reading.meaning {
            return "'access' is a date that Assay itself compares with a clock, so nothing shows "
                + "that the backend's clock moves"
        }
        var purchase = EventSpec(type: .documented(.initialPurchase), user: "ada")
        purchase.expires = Self.purchaseDuration
        let plan = RunPlan(
            steps: [
                .register(user: "ada"),
                .deliver(Delivery(name: "purchase", subject: .event(purchase))),
            ],
            users: ["ada"],
            observesFinalState: true
        )
        @Sendable func hasAccess(_ record: RunRecord) -> Bool? {
            guard case .document(let document) = record.state(of: "ada", probe: probe.name),
                let accessValue = document[reading.pointer] ?? reading.valueIfPathAbsent
            else { return nil }
            let now = record.lastProbeTime
            return StateRule.value(accessValue, reading.meaning, field: "access", at: now)?.bool
        }
        var record = await executor.run(
            plan,
            in: name,
            observability: observability,
            within: .seconds(60)
        ) {
            hasAccess($0) == true ? .settled : .mayResolveWithLongerWait
        }
        guard hasAccess(record) == true else {
            return "a plain purchase gives no access, so nothing shows that the backend's clock "
                + "moves"
        }
        record.plan.clock = [.zero, Self.clockAdvance]
        let settleTimeout = executor.settleTimeout(
            executor.shortSettleTimeout(observability.latency)
        )
        while true {
            record = await executor.refreshedRecord(record, probes: true)
            if case .faultNotApplied(let text) = record.runProblem { return text }
            if hasAccess(record) != true { return nil }
            if settleTimeout.isOver || Task.isCancelled { break }
            await settleTimeout.pause(.milliseconds(50))
        }
        return "the profile's 'clock' was set, but a purchase that ended an hour ago by that "
            + "clock still gives access: either the clock did not move, or the backend does not "
            + "end access"
    }

    /// Returns the finding for a case that cannot be judged, because it is not proven that the
    /// backend's clock moves.
    ///
    /// `unprovenReason` is the reason why the proof failed.
    func finding(_ unprovenReason: String, of contract: Contract) -> Finding {
        Finding(
            .unobservable,
            expected: "the backend's clock can be shown to move",
            actual: unprovenReason,
            remedy: Self.remedy,
            location: contract.location
        )
    }
}
