import Replay
import TestBackend
import Values

/// A network in front of a double, with a delay in each direction.
final class SimulatedNetwork: Transport {
    let base = "simulated"
    private let backend: BackendDouble
    private let machine: SimulatedMachine
    private let clock: SimulatedClock

    init(_ machine: SimulatedMachine, _ backend: BackendDouble) {
        self.machine = machine
        self.backend = backend
        clock = SimulatedClock(machine: machine)
    }

    func openConnections(lanes count: Int, path: String) async {}
    func close() async {}

    private func travel(_ range: ClosedRange<Int64> = 30...700) async {
        await clock.pause(.microseconds(machine.pick(range)))
    }

    func send(
        _ request: HTTPMessage.Request,
        lane: Int,
        within: Duration,
        fault: AttemptFault
    ) async -> Exchange.Outcome {
        let deadline = clock.now + within
        await travel()
        guard backend.isReachable else {
            return .failed(.refused, "the connection was refused")
        }
        if fault == .truncatedRequest { return .requestCut }
        if case .held(let gate, _) = fault {
            let lifetime = backend.process.lifetime
            guard await gate.pass(lane: lane), backend.process.lifetime == lifetime else {
                return .failed(.closed, "the connection was reset")
            }
            await travel(10...100)
        }
        let outcome = await backend.send(request, within: deadline - clock.now)
        // A refused client gets its response from the machine, not over the network.
        if case .failed(.refused, _) = outcome { return outcome }
        await travel()
        return fault == .disconnect ? .answerLost(nil) : outcome
    }
}
