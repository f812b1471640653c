/// How tests wait: for evidence, never for a time.
package enum SettleTimeout {
    /// Only a test that hangs ever waits this long; no machine is too slow for it.
    package static let hang: Duration = .seconds(900)

    /// Looks again and again until something is the case.
    ///
    /// - Returns: Whether it came to be; false only after `hang`.
    package static func until(
        _ isSo: () async throws -> Bool
    ) async throws -> Bool {
        let clock = ContinuousClock()
        let start = clock.now
        // Longer and longer pauses, so that many waiting tests do not hold each other up.
        var pause = Duration.microseconds(500)
        while try await !isSo() {
            guard clock.now - start < hang else { return false }
            try await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(50))
        }
        return true
    }
}
