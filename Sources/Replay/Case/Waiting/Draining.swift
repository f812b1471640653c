internal import Contracts
internal import FakeServers
internal import Values

extension RunExecutor {
    /// Waits until the backend has repeated the calls that failed because of injected faults.
    ///
    /// The wait ends after the settle timeout at the latest. Without the wait, a database that
    /// outlives the run could keep unsent messages to users of this run, and the backend would send
    /// them during the next run. A database that exists only for this run is discarded with its
    /// messages, so it needs no wait.
    func waitForRepeatedCalls() async {
        guard backend.process != nil, profile.start?.usesRunDataFolder == false else { return }
        let journal = fakes.journal
        var open = journal.read { $0.namespacesOfFailedCalls }
        let settleTimeout = settleTimeout(profile.settleTimeout)
        var pause: Duration = .milliseconds(20)
        while !open.isEmpty, backend.process?.exitDescription == nil, !settleTimeout.isOver,
            !Task.isCancelled
        {
            await settleTimeout.pause(pause)
            pause = min(pause * 2, .milliseconds(500))
            open = open.filter { name in
                journal.read { $0.exchanges(in: name, by: .backend).containsUnrepeatedCall }
            }
        }
    }
}

extension Journal {
    /// The namespaces in which a failed call of the backend has not been repeated yet.
    fileprivate var namespacesOfFailedCalls: [String] {
        let calls = exchanges.filter { $0.from == .backend }
        return Dictionary(grouping: calls, by: \.namespace)
            .filter { $0.value.containsUnrepeatedCall }.keys.sorted()
    }
}

extension [Exchange] {
    /// Whether a writing call (any method except GET) failed and no successful call has repeated
    /// it.
    ///
    /// A repetition has the same method, target and body as the failed call, as calls with an
    /// idempotency key have.
    fileprivate var containsUnrepeatedCall: Bool {
        var open: Set<HTTPMessage.Request.Identity> = []
        for exchange in self where exchange.request.method != "GET" {
            let identity = exchange.request.identity
            if exchange.hasReasonToRepeat { open.insert(identity) } else { open.remove(identity) }
        }
        return !open.isEmpty
    }
}

extension Exchange {
    /// Whether the backend has a reason to repeat the call: no response, status 429, or a status of
    /// 500 or above.
    fileprivate var hasReasonToRepeat: Bool {
        guard case .answered(let response) = outcome else { return true }
        return response.status >= 500 || response.status == 429
    }
}

extension HTTPMessage.Request {
    fileprivate struct Identity: Hashable {
        let method: String
        let target: String
        let body: [UInt8]
    }

    fileprivate var identity: Identity {
        Identity(method: method, target: target, body: body)
    }
}
