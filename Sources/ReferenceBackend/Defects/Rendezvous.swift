/// A meeting point where concurrent requests with the same key wait for each other, so that a race
/// occurs on fast and busy machines alike.
actor Rendezvous {
    /// The maximum time for which a request waits for another request.
    private static let settleTimeout = Duration.seconds(1)

    private var waitingRequests: [String: (ticket: Int, CheckedContinuation<Bool, Never>)] = [:]
    private var ticket = 0

    /// Waits until another request arrives with the same key, or until the timeout.
    ///
    /// - Returns: Whether another request arrived.
    @discardableResult
    func waitForSecondRequest(_ key: String) async -> Bool {
        if let (_, earlierContinuation) = waitingRequests.removeValue(forKey: key) {
            earlierContinuation.resume(returning: true)
            return true
        }
        ticket += 1
        let ownTicket = ticket
        let timeoutTask = Task {
            // Cancellation ends the wait early; the second request has then arrived.
            try? await Task.sleep(for: Self.settleTimeout)
            timeOut(key, ownTicket)
        }
        let hasMetSecondRequest = await withCheckedContinuation {
            waitingRequests[key] = (ownTicket, $0)
        }
        timeoutTask.cancel()
        return hasMetSecondRequest
    }

    private func timeOut(_ key: String, _ ticket: Int) {
        guard let (waitingTicket, waitingContinuation) = waitingRequests[key],
            waitingTicket == ticket
        else { return }
        waitingRequests[key] = nil
        waitingContinuation.resume(returning: false)
    }
}
