internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Values

/// Sets the backend's clock with the command or request under 'clock' in the profile.
///
/// The minutes and days between the deliveries of a contract then pass for the backend too.
extension CaseExecution {
    /// Sets the backend's clock to the current time of the contract.
    ///
    /// Returns false when that fails; the run is then inconclusive.
    mutating func syncBackendClock() async -> Bool {
        guard plan.clock != nil else { return true }
        return await syncBackendClock(at: now - plan.base(from: run.base))
    }

    /// Sets the backend's clock ahead of the clock of this machine by the given time.
    ///
    /// Returns false when that fails; the run is then inconclusive.
    @discardableResult
    mutating func syncBackendClock(at clockAdvance: Duration) async -> Bool {
        guard let problemText = await requests.setClock(clockAdvance: clockAdvance) else {
            return true
        }
        // Only the first problem of a run is reported.
        runProblem = runProblem ?? .faultNotApplied(problemText)
        return false
    }
}

extension CaseRequests {
    /// Sets the backend's clock, and returns the reason if that fails.
    ///
    /// Returns nil on success. Returns nil without a request if the clock already shows the wanted
    /// time, or if the profile has no 'clock'.
    func setClock(clockAdvance: Duration) async -> String? {
        let wantedSetting = (clockAdvance, run.backend.processNumber)
        let knownSetting = run.clockSetting.withLock { $0 }
        // The clock of a new backend process shows the time of this machine.
        if knownSetting == wantedSetting
            || (knownSetting.clockAdvance, clockAdvance) == (.zero, .zero)
        {
            return nil
        }
        guard let clockOperation = run.profile.clock else { return nil }
        let targetTime = run.fakes.now + clockAdvance
        let values = NamedValues([
            "now": .string(targetTime.description), "now-ms": .integer(targetTime.milliseconds),
            "ahead": .integer(clockAdvance.components.seconds),
        ])
        let problemText = await problem(
            of: clockOperation,
            values,
            "set the clock \(clockAdvance.offsetText)"
        )
        // A failed attempt may have set the clock all the same, so its time is unknown.
        let unconfirmedSetting = (
            clockAdvance == .zero ? knownSetting.clockAdvance : clockAdvance, -1
        )
        run.clockSetting.withLock { $0 = problemText == nil ? wantedSetting : unconfirmedSetting }
        return problemText.map { "the clock could not be set with the profile's 'clock': \($0)" }
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
