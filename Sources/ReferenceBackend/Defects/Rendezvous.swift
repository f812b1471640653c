/// A meeting point where concurrent requests with the same key wait for each other, so that a race
/// occurs on fast and busy machines alike.
actor Rendezvous {
    /// The maximum time for which a request waits for another request.
    private static let patience = Duration.seconds(1)

    private var waiting: [String: (ticket: Int, CheckedContinuation<Bool, Never>)] = [:]
    private var ticket = 0

    /// Waits until another request arrives with the same key, or until the timeout.
    ///
    /// - Returns: Whether another request arrived.
    @discardableResult
    func meet(_ key: String) async -> Bool {
        if let (_, other) = waiting.removeValue(forKey: key) {
            other.resume(returning: true)
            return true
        }
        ticket += 1
        let mine = ticket
        let alarm = Task {
            try? await Task.sleep(for: Self.patience)
            leave(key, mine)
        }
        let hasMet = await withCheckedContinuation { waiting[key] = (mine, $0) }
        alarm.cancel()
        return hasMet
    }

    private func leave(_ key: String, _ ticket: Int) {
        guard let (known, alone) = waiting[key], known == ticket else { return }
        waiting[key] = nil
        alone.resume(returning: false)
    }
}
