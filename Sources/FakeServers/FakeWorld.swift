package import Conformance
internal import Providers

/// All providers of one process behind one journal: the state, the clocks and the ids.
package final class FakeWorld: Sendable {
    package let journal: LiveJournal
    private let revenueCat: Locked<RevenueCatState>
    private let oneSignal: Locked<OneSignalState>
    /// Virtual time of each run that is going on.
    private let clocks = Locked<[String: Instant]>([:])
    private let wallClock: @Sendable () -> Instant

    package init(
        journalBytesMax: Int,
        revenueCatKey: Secret?,
        oneSignalKey: Secret?,
        wallClock: @escaping @Sendable () -> Instant
    ) {
        journal = LiveJournal(bytesMax: journalBytesMax)
        revenueCat = Locked(RevenueCatState(key: revenueCatKey))
        oneSignal = Locked(OneSignalState(key: oneSignalKey))
        self.wallClock = wallClock
    }

    package var now: Instant { wallClock() }

    /// Makes a run known: its ids and its virtual time.
    package func open(_ namespace: String, ids: [String], at now: Instant) {
        revenueCat.withLock { $0.know(ids, namespace: namespace) }
        oneSignal.withLock { $0.know(ids, namespace: namespace) }
        setClock(of: namespace, to: now)
    }

    package func setClock(of namespace: String, to now: Instant) {
        clocks.withLock { $0[namespace] = now }
    }

    package func clock(of namespace: String) -> Instant {
        clocks.withLock { $0[namespace] } ?? wallClock()
    }

    /// Lets what a RevenueCat event reports happen in the model.
    package func apply(_ event: JSONValue) {
        revenueCat.withLock { $0.apply(event) }
    }

    package func schedule(_ plan: ProviderPlan, namespace: String) {
        oneSignal.withLock { $0.schedule(plan, namespace: namespace) }
    }

    package func heal(namespace: String) {
        oneSignal.withLock { $0.heal(namespace: namespace) }
    }

    /// Answers one request as the named provider, in real time as the backend's own clock is real.
    func respond(_ party: Exchange.Party, to request: HTTPMessage.Request) -> Reply {
        let now = wallClock()
        switch party {
        case .revenueCat: return revenueCat.withLock { $0.respond(to: request, at: now) }
        case .oneSignal: return oneSignal.withLock { $0.respond(to: request, at: now) }
        case .backend, .app, .assay, .firebase, .purchasely, .despia:
            return Reply(HTTPMessage.Response(404), .inferred, of: party.description)
        }
    }
}
