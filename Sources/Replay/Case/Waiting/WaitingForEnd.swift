internal import Conformance
internal import FakeServers

/// The step `wait-for-end`: waits in real time until a purchase has ended.
extension CaseExecution {
    /// The time added to each wait for the end of a purchase, because some backends count in whole
    /// milliseconds.
    private static let endMargin: Duration = .milliseconds(20)

    mutating func waitForEnd(of delivery: String) async {
        guard let end = plan.purchaseEnd(of: delivery).map({ run.base + $0 }) else {
            runProblem = .faultNotApplied(
                "'wait-for-end: \(delivery)' needs a purchase that ends, and this one has no end"
            )
            return
        }
        let timeUntilEnd = end - run.backendNow
        guard timeUntilEnd > .zero else {
            runProblem = .periodEndedTooEarly(
                "the purchase '\(delivery)' had ended \(-timeUntilEnd.milliseconds) ms before the case "
                    + "reached 'wait-for-end: \(delivery)'"
            )
            return
        }
        let clock = clock
        await JobSlot.releaseSlot { await clock.pause(timeUntilEnd + Self.endMargin) }
    }
}

extension RunPlan {
    /// Returns the time at which the purchase in a delivery ends; if its grace period ends later,
    /// returns the end of the grace period.
    ///
    /// The time is relative to the start time of the contract.
    fileprivate func purchaseEnd(of delivery: String) -> Duration? {
        for case .event(let spec) in deliveries.filter({ $0.name == delivery }).map(\.subject) {
            return [spec.expires, spec.grace].compactMap { $0 }.max()
        }
        return nil
    }
}
