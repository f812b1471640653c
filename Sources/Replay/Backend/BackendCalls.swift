internal import Contracts
internal import FakeServers
internal import Values

/// Selects the backend's calls to one provider during one run.
struct BackendCalls: Hashable, Sendable {
    let party: Exchange.Party
    let namespace: String
    /// The journal's sequence number at which the run began.
    let first: Int

    /// Returns the number of the backend's calls so far.
    func count(in journal: borrowing Journal) -> Int {
        journal.exchanges(in: namespace, from: first, by: .backend).count { $0.to == party }
    }

    func contains(_ exchange: Exchange?) -> Bool {
        guard let exchange else { return false }
        return exchange.from == .backend && exchange.to == party
            && exchange.namespace == namespace && exchange.sequence >= first
    }
}

extension RunExecutor {
    /// Waits until the backend has made a number of calls, or the settle timeout is over.
    ///
    /// - Parameters:
    ///   - count: The number of calls to wait for.
    ///   - calls: The provider and the run whose calls count.
    /// - Returns: Whether the backend has made the calls; false after a cancellation.
    func waitForCalls(_ count: Int, of calls: BackendCalls) async -> Bool {
        let settleTimeout = settleTimeout(profile.settleTimeout)
        let journal = fakes.journal
        // The journal is followed before the calls are counted, so that no call is missed in
        // between.
        let journalEntries = journal.follow()
        @Sendable func haveCallsArrived() -> Bool { journal.read { calls.count(in: $0) } >= count }
        if haveCallsArrived() { return true }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await number in journalEntries
                where calls.contains(journal.read { $0.exchange(number) }) && haveCallsArrived() {
                    return true
                }
                return false
            }
            group.addTask {
                await settleTimeout.waitUntilOver()
                return false
            }
            let waitForCalls = await group.next() ?? false
            group.cancelAll()
            return waitForCalls
        }
    }
}
