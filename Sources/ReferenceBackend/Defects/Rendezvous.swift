/// Where requests that are about to do the same wait for each other, so that a race is one however
/// fast or busy the machine is.
actor Rendezvous {
    /// How long one waits that comes alone.
    private static let patience = Duration.seconds(1)

    private var waiting: [String: (ticket: Int, CheckedContinuation<Bool, Never>)] = [:]
    private var ticket = 0

    /// Comes back when another one has come with the same key, or when none does.
    ///
    /// - Returns: Whether another one has come.
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
