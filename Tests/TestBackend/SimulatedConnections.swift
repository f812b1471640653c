package import Replay
package import Values

extension BackendDouble {
    /// The connections between a runner and a double on a simulated machine.
    package struct ConnectionState {
        /// Responds to held requests with this status before the gate opens.
        package var earlyStatus: Int?
        /// The number of held requests for whose rest it can wait without leaving other requests
        /// without a response; nil for any number.
        package var workerCount: Int?
        /// Stops the work on a request when its client no longer waits.
        package var abandonsTimedOutRequests = true
        /// The refused requests, except those that check readiness.
        package fileprivate(set) var refusedCount = 0
        /// The number of lanes of each call that opened connections.
        package fileprivate(set) var openedLaneCounts: [Int] = []
        fileprivate var heldCount = 0
        /// The responses that a client waits for, by the number of the request.
        fileprivate var pending: [Int: SimulatedCell<Exchange.Outcome>] = [:]
    }

    /// Sends a response while the handler of the request goes on.
    package func sendEarly(_ reply: Reply, to arrival: Arrival) {
        guard let outcome = reply.outcome else { return }
        connections.pending[arrival.number]?.fill(outcome)
    }

    /// Closes all connections, oldest request first.
    func resetConnections() {
        let pending = connections.pending.sorted { $0.key < $1.key }
        connections.pending = [:]
        for (_, cell) in pending { cell.fill(.failed(.closed, "the connection was reset")) }
    }

    private func serve(_ arrival: Arrival) async -> Exchange.Outcome? {
        switch arrival.fault {
        case .truncatedRequest: return .requestCut
        case .held(let gate, _):
            if let status = connections.earlyStatus { return Reply.status(status).outcome }
            connections.heldCount += 1
            defer { connections.heldCount -= 1 }
            guard await gate.pass(lane: arrival.lane) else { return Reply.hangUp.outcome }
        case .none, .disconnect:
            if let workerCount = connections.workerCount, connections.heldCount >= workerCount {
                await clock.pause(.seconds(3600))
            }
        }
        if let reply = await respond(self, arrival) { return reply.outcome }
        let reply = await model.reply(to: arrival, of: self)
        return arrival.fault == .disconnect ? .answerLost(nil) : reply.outcome
    }
}

extension BackendDouble: Transport {
    package var base: String { address }

    package func openConnections(lanes count: Int, path: String) async {
        connections.openedLaneCounts.append(count)
    }

    package func close() async {
        process.operations.append("close")
        socket?.stop()
    }

    package func send(
        _ request: HTTPMessage.Request,
        lane: Int,
        within: Duration,
        fault: AttemptFault
    ) async -> Exchange.Outcome {
        guard isReachable else {
            if request.path != "/ready" { connections.refusedCount += 1 }
            return .failed(.refused, "the connection was refused")
        }
        // A canceled client sends nothing.
        guard !Task.isCancelled else { return .failed(.closed, "cancelled") }
        let arrival = record(request, lane: lane, fault: fault)
        let deadline = clock.now + within
        let cell = SimulatedCell<Exchange.Outcome>()
        connections.pending[arrival.number] = cell
        defer { connections.pending[arrival.number] = nil }
        let serving = clock.task {
            if let outcome = await self.serve(arrival) { cell.fill(outcome) }
        }
        let timer = machine?.at(deadline, .assay) {
            cell.fill(.failed(.timedOut, "no complete response within \(within.milliseconds) ms"))
        }
        let outcome = await withTaskCancellationHandler {
            await cell.value
        } onCancel: {
            cell.fill(.failed(.closed, "cancelled"))
        }
        if let timer { machine?.cancel(timer) }
        if case .failed(.timedOut, _) = outcome, connections.abandonsTimedOutRequests {
            serving.cancel()
        }
        return outcome
    }
}
