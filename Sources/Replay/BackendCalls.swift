internal import Conformance
internal import FakeServers

/// What the backend calls a provider for during a run.
struct BackendCalls: Hashable, Sendable {
    let party: Exchange.Party
    let namespace: String
    /// The journal's number at which the run began.
    let first: Int

    /// How many there have been so far.
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
    /// Waits until the backend has made so many calls, or the profile's patience is over.
    ///
    /// - Returns: Whether it has made them; false after a cancellation too.
    func hasMade(_ count: Int, of calls: BackendCalls) async -> Bool {
        let patience = patience(profile.patience)
        let journal = world.journal
        // Whoever follows first and counts then misses none.
        let entries = journal.follow()
        @Sendable func areThere() -> Bool { journal.read { calls.count(in: $0) } >= count }
        if areThere() { return true }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await number in entries
                where calls.contains(journal.read { $0.exchange(number) }) && areThere() {
                    return true
                }
                return false
            }
            group.addTask {
                await patience.elapse()
                return false
            }
            let hasMade = await group.next() ?? false
            group.cancelAll()
            return hasMade
        }
    }
}
