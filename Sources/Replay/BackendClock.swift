internal import Conformance
internal import FakeServers
internal import Providers

/// Sets the backend's clock with the command or request under 'clock' in the profile.
///
/// The minutes and days between the deliveries of a contract then pass for the backend too.
extension CaseExecution {
    /// Sets the backend's clock to the current time of the contract.
    ///
    /// Returns false when that fails; the run is then inconclusive.
    mutating func syncBackendClock() async -> Bool {
        guard plan.clock != nil else { return true }
        return await syncBackendClock(at: now - run.base)
    }

    /// Sets the backend's clock ahead of the clock of this machine by the given time.
    ///
    /// Returns false when that fails; the run is then inconclusive.
    @discardableResult
    mutating func syncBackendClock(at ahead: Duration) async -> Bool {
        guard let text = await setClock(ahead: ahead) else { return true }
        // Only the first problem of a run is reported.
        runProblem = runProblem ?? .faultNotApplied(text)
        return false
    }

    /// Sets the backend's clock, and returns the reason if that fails.
    ///
    /// Returns nil if the clock shows the wanted time, or if it was never set and need not be.
    func setClock(ahead: Duration) async -> String? {
        let wantedSetting = (ahead, backend.processNumber)
        let knownSetting = run.clockSetting.withLock { $0 }
        // The clock of a new backend process shows the time of this machine.
        if knownSetting == wantedSetting || (knownSetting.ahead, ahead) == (.zero, .zero) {
            return nil
        }
        guard let clockOperation = profile.clock else { return nil }
        let time = world.now + ahead
        let values = NamedValues([
            "now": .string(time.description), "now-ms": .integer(time.milliseconds),
            "ahead": .integer(ahead.components.seconds),
        ])
        let text = await problem(of: clockOperation, values, "set the clock \(ahead.offsetText)")
        // A failed attempt may have set the clock all the same, so its time is unknown.
        let unconfirmedSetting = (ahead == .zero ? knownSetting.ahead : ahead, -1)
        run.clockSetting.withLock { $0 = text == nil ? wantedSetting : unconfirmedSetting }
        return text.map { "the clock could not be set with the profile's 'clock': \($0)" }
    }
}

extension CasePlan {
    /// The case with a list of the times to which its steps set the backend's clock.
    ///
    /// If no time passes in the case, it is the unchanged case.
    var withClockTimes: CasePlan {
        guard subject.hasPlannedDelays, !subject.requiresMachineTime else { return self }
        var clockOffsets: Set<Duration> = [.zero]
        for delivery in subject.deliveries {
            clockOffsets.formUnion(clockOffsets.map { $0 + delivery.delay })
            guard delivery.followsRetrySchedule else { continue }
            let retrySchedule = delivery.schedule(among: subject.deliveries).attemptTimes
            clockOffsets = Set(clockOffsets.flatMap { stop in retrySchedule.map { stop + $0 } })
        }
        return settingBackendClock(clock: clockOffsets.sorted())
    }
}

extension RetrySchedule {
    /// The times of all attempts of the retry schedule, relative to the first attempt.
    fileprivate var attemptTimes: [Duration] {
        var attemptTime: Duration = .zero
        return (1...attemptCountMax).compactMap { number in
            delay(beforeAttempt: number).map { delay in
                attemptTime += delay
                return attemptTime
            }
        }
    }
}
