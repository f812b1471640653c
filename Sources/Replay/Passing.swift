internal import Conformance
internal import FakeServers

/// Time that passes in earnest: nothing but the clock ends what is waited for.
extension Play {
    /// So much later than an end is surely over, whoever counts in whole milliseconds.
    private static let margin: Duration = .milliseconds(20)

    mutating func pass(_ delivery: String) async {
        guard let end = plan.ends(of: delivery).map({ run.base + $0 }) else {
            trouble = .disturbanceMissed("'\(delivery)' tells of no end")
            return
        }
        let rest = end - run.backendNow
        guard rest > .zero else {
            trouble = .overTooSoon(
                "'\(delivery)' and what came after it took \(-rest.milliseconds) ms longer than its "
                    + "period"
            )
            return
        }
        let clock = clock
        await JobPlace.givenAway { await clock.pause(rest + Self.margin) }
    }
}

extension RunPlan {
    /// When what that delivery tells of is over: its period, and its grace period where it has one.
    fileprivate func ends(of delivery: String) -> Duration? {
        for case .event(let spec) in deliveries.filter({ $0.name == delivery }).map(\.subject) {
            return [spec.expires, spec.grace].compactMap { $0 }.max()
        }
        return nil
    }
}
