internal import Conformance
internal import FakeServers

extension RunExecutor {
    /// Waits until the backend has repeated the calls that failed by plan, at most for the settle
    /// timeout.
    ///
    /// A store that outlives the run holds no message to users of this run then, which the backend
    /// would send in the next one. A store of one run alone is thrown away with its messages.
    func drain() async {
        guard backend.process != nil, profile.start?.hasOwnData == false else { return }
        let journal = world.journal
        var open = journal.read { $0.namespacesOfFailedCalls }
        let patience = patience(profile.patience)
        var pause: Duration = .milliseconds(20)
        while !open.isEmpty, backend.process?.exitText == nil, !patience.isOver, !Task.isCancelled {
            await patience.pause(pause)
            pause = min(pause * 2, .milliseconds(500))
            open = open.filter { name in
                journal.read { $0.exchanges(in: name, by: .backend).containsUnrepeatedCall }
            }
        }
    }
}

extension Journal {
    /// The namespaces whose users the backend still has a failed call to repeat for.
    fileprivate var namespacesOfFailedCalls: [String] {
        let calls = exchanges.filter { $0.from == .backend }
        return Dictionary(grouping: calls, by: \.namespace)
            .filter { $0.value.containsUnrepeatedCall }.keys.sorted()
    }
}

extension [Exchange] {
    /// Whether a call that writes failed, and fewer calls with its request succeeded since.
    ///
    /// A repeated call has the same target and body, as a call with an idempotency key has.
    fileprivate var containsUnrepeatedCall: Bool {
        var open: Set<HTTPMessage.Request.Identity> = []
        for exchange in self where exchange.request.method != "GET" {
            let identity = exchange.request.identity
            if exchange.mayBeRepeated { open.insert(identity) } else { open.remove(identity) }
        }
        return !open.isEmpty
    }
}

extension Exchange {
    /// Whether a backend has reason to make the call once more.
    fileprivate var mayBeRepeated: Bool {
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
