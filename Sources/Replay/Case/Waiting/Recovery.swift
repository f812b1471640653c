internal import Contracts
internal import FakeServers
internal import Values

extension RunExecutor {
    /// The longest wait until the backend recovers from a run that may have blocked it.
    ///
    /// Callers of providers usually give up after 30 s, and RevenueCat disconnects after 60 s
    /// (RevenueCat fact sheet, section 1.3).
    private static let recoveryTimeMax: Duration = .seconds(60)

    /// Waits until a purchase takes effect again after a run that may have blocked the backend, so
    /// that the next case does not wait for the same blocked worker.
    ///
    /// - Parameters:
    ///   - name: The namespace of the purchase.
    ///   - observability: The effects and the state of the backend that can be observed.
    func waitForRecovery(_ name: String, _ observability: RunRecord.Observability) async {
        guard !observability.showsNoPurchase, backend.process?.exitDescription == nil,
            !Task.isCancelled
        else { return }
        _ = await Sentinel(run: self).observePurchase(
            name,
            wait: max(Self.recoveryTimeMax, profile.settleTimeout),
            observability
        )
        fakes.retire(name)
    }
}
