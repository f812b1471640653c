internal import Conformance
internal import FakeServers
internal import Providers

/// The backend's clock, set the way the profile says: the minutes and days between deliveries pass
/// for the backend too.
extension Play {
    /// Lets the backend's clock show the contract's time; false when it cannot be set, and then the
    /// run says nothing.
    mutating func keepClock() async -> Bool {
        guard plan.clock != nil else { return true }
        return await keepClock(at: now - run.base)
    }

    /// The same for a time after the run's beginning.
    @discardableResult
    mutating func keepClock(at ahead: Duration) async -> Bool {
        guard let text = await setClock(ahead: ahead) else { return true }
        // The first reason is the one to tell.
        trouble = trouble ?? .disturbanceMissed(text)
        return false
    }

    /// Why it could not be set; nil when it shows that time, or nobody ever set it.
    func setClock(ahead: Duration) async -> String? {
        let wanted = (ahead, backend.life)
        let known = run.clockSetting.withLock { $0 }
        // A new process starts with the machine's time.
        if known == wanted || (known.ahead, ahead) == (.zero, .zero) { return nil }
        guard let act = profile.clock else { return nil }
        let time = world.now + ahead
        let values = NamedValues([
            "now": .string(time.description), "now-ms": .integer(time.milliseconds),
            "ahead": .integer(ahead.components.seconds),
        ])
        let text = await problem(of: act, values, "set the clock \(ahead.offsetText)")
        // What failed may have taken place: nobody takes it for what it was before.
        let unsure = (ahead == .zero ? known.ahead : ahead, -1)
        run.clockSetting.withLock { $0 = text == nil ? wanted : unsure }
        return text.map { "the clock could not be set the way of the profile's 'clock': \($0)" }
    }
}

extension CasePlan {
    /// The case with a clock that passes as its steps do; itself when no time passes in it.
    var settingClock: CasePlan {
        guard subject.takesTime, !subject.keepsMachineTime else { return self }
        var stops: Set<Duration> = [.zero]
        for delivery in subject.deliveries {
            stops.formUnion(stops.map { $0 + delivery.delay })
            guard delivery.isAlongLadder else { continue }
            let ladder = delivery.schedule(among: subject.deliveries).moments
            stops = Set(stops.flatMap { stop in ladder.map { stop + $0 } })
        }
        return setting(clock: stops.sorted())
    }
}

extension RetrySchedule {
    /// When its attempts come, after the first.
    fileprivate var moments: [Duration] {
        var moment: Duration = .zero
        return (1...attemptCountMax).compactMap { number in
            delay(beforeAttempt: number).map { delay in
                moment += delay
                return moment
            }
        }
    }
}
