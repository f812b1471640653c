internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Measures, before the first case, which reactions of the backend can be observed and how fast
/// they are.
///
/// It makes two plain purchases, and looks for push notifications and for changes that the
/// profile's probes show.
struct Calibration {
    static let nothingObservable = RunRecord.Observability(
        arePushesObservable: false,
        areProbeChangesObservable: false,
        latency: .milliseconds(5)
    )
    /// The longest wait for the effects of each of the two purchases.
    static let wait: Duration = .seconds(3)

    let executor: RunExecutor
    let nonce: String

    /// The namespaces of the fakes in which the two purchases are made.
    var namespaceNames: [String] { ["c1", "c2"].map { "\(nonce)-\($0)" } }

    func observability() async -> RunRecord.Observability {
        let expectedObservability = RunRecord.Observability(
            arePushesObservable: executor.profile.canShowMessages,
            areProbeChangesObservable: !executor.profile.probes.isEmpty,
            latency: .zero
        )
        guard
            expectedObservability.arePushesObservable
                || expectedObservability.areProbeChangesObservable
        else { return Self.nothingObservable }
        let sentinel = Sentinel(run: executor)
        // The first purchase warms up the backend, and the second measures its speed. Both have the
        // same time limit, because effects that the first purchase did not show may be slow.
        guard
            let first = await sentinel.observePurchase(
                namespaceNames[0],
                wait: Self.wait,
                expectedObservability,
                comparesUnknownUser: true
            )
        else {
            var nothingObservable = Self.nothingObservable
            nothingObservable.plainPurchaseStatus = plainResponseExcerpt()
            return nothingObservable
        }
        var observability =
            await sentinel.observePurchase(
                namespaceNames[1],
                wait: Self.wait,
                expectedObservability,
                comparesUnknownUser: true
            )
            ?? first
        observability.readsSubscribersOverREST =
            observability.readsSubscribersOverREST || first.readsSubscribersOverREST
        if expectedObservability.arePushesObservable, !observability.arePushesObservable,
            let purchaseEffectDelay = effectDelay()
        {
            observability.arePushesObservable = true
            observability.latency = max(observability.latency, purchaseEffectDelay)
        }
        return observability
    }

    /// Returns the status and the beginning of the backend's response to the first purchase; nil
    /// without a response.
    private func plainResponseExcerpt() -> String? {
        let exchanges = executor.fakes.journal.read { $0.exchanges(in: namespaceNames[0]) }
        return exchanges.first { $0.purpose == .sentinel }?.response?.bodyExcerpt
    }

    /// Returns the time between a purchase and the first push that it caused; nil if no purchase
    /// caused one.
    func effectDelay() -> Duration? {
        for name in namespaceNames {
            let exchanges = executor.fakes.journal.read { $0.exchanges(in: name) }
            guard let purchase = exchanges.first(where: { $0.purpose == .sentinel }),
                let effect = exchanges.first(where: { !$0.effects.isEmpty })
            else { continue }
            return .microseconds(effect.invoked - purchase.invoked)
        }
        return nil
    }
}

extension HTTPMessage.Response {
    /// The status and the first 160 bytes of the body on one line, which often contain the reason
    /// for an error; of an HTML page only the title.
    var bodyExcerpt: String {
        guard !isHTMLPage else { return pageDescription }
        let words = String(decoding: body.prefix(160), as: UTF8.self).split {
            $0.isWhitespace || $0.isNewline
        }
        return (["\(status)"] + words).joined(separator: " ")
    }
}
