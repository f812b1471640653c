internal import Contracts
internal import Providers
internal import Values

extension CaseRequests {
    /// The time added to each wait for the end of a purchase, because some backends count in whole
    /// milliseconds.
    private static let endMargin: Duration = .milliseconds(20)

    /// Carries out the step `wait-for-end`: waits in real time until a purchase has ended.
    ///
    /// - Parameters:
    ///   - delivery: The name of the delivery with the purchase.
    ///   - plan: The plan of the run.
    /// - Returns: The reason why the run is inconclusive; nil when the purchase has ended.
    func waitForEnd(of delivery: String, in plan: RunPlan) async -> RunRecord.RunProblem? {
        guard
            let end = plan.purchaseEnd(of: delivery)
                .map({ plan.base(from: run.base) + $0 })
        else {
            return .faultNotApplied(
                "'wait-for-end: \(delivery)' needs a purchase that ends, and this one has no end"
            )
        }
        let timeUntilEnd = end - run.backendNow
        guard timeUntilEnd > .zero else {
            return .periodEndedTooEarly(
                "the purchase '\(delivery)' had ended \(-timeUntilEnd.milliseconds) ms before the case "
                    + "reached 'wait-for-end: \(delivery)'"
            )
        }
        let clock = run.clock
        await JobSlot.releaseSlot { await clock.pause(timeUntilEnd + Self.endMargin) }
        return nil
    }
}

extension RunPlan {
    /// Returns the time at which the purchase in a delivery ends; if its grace period ends later,
    /// returns the end of the grace period.
    ///
    /// The time is relative to the start time of the contract.
    fileprivate func purchaseEnd(of delivery: String) -> Duration? {
        for case .event(let event) in deliveries.filter({ $0.name == delivery }).map(\.subject) {
            return event.purchaseEnd
        }
        return nil
    }
}
