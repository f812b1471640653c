package import Conformance

/// The journal while a run is going on: many writers, one order.
///
/// Real times count from the moment the journal is made.
package final class LiveJournal: Sendable {
    private let storage: Locked<Journal>
    private let origin: ContinuousClock.Instant

    package init(bytesMax: Int) {
        storage = Locked(Journal(bytesMax: bytesMax))
        origin = ContinuousClock.now
    }

    /// Microseconds since the journal was made.
    package var elapsed: Int64 {
        let components = (ContinuousClock.now - origin).components
        return components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    /// Writes an invocation, before the act, and returns its number.
    package func begin(_ exchange: Exchange) -> Int {
        var exchange = exchange
        exchange.invoked = elapsed
        return storage.withLock { $0.append(exchange) }
    }

    package func complete(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        effects: [Effect] = [],
        namespace: String? = nil
    ) {
        let now = elapsed
        storage.withLock {
            $0.complete(sequence, outcome, effects: effects, namespace: namespace, at: now)
        }
    }

    package func read<Result: Sendable>(_ body: (borrowing Journal) -> Result) -> Result {
        storage.withLock { body($0) }
    }
}
