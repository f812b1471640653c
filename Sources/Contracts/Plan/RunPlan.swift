package import Providers
package import Values

/// The plan of one run: its steps, and the users whose state is read by probes at its end.
///
/// Plans are compared by value, so that cases with equal plans for their baseline run (without
/// faults) share one baseline run.
package struct RunPlan: Hashable, Codable, Sendable {
    package var steps: [Step]
    package var users: [String]
    /// The number of steps at the beginning that only prepare the case.
    ///
    /// Nil in older saved runs, and when preparatory steps follow other steps.
    package var preparationStepCount: Int?
    /// Whether the run ends with a wait until the backend has finished its work, and then with
    /// probes.
    package var observesFinalState: Bool
    /// The real time for which further exchanges are recorded after the backend has finished its
    /// work; nil for none.
    package var extraObservationTime: Duration?
    /// Whether the run counts calls that carry no user ID, such as fetches of Firebase's keys.
    package var countsKeyFetches = false
    /// Whether the run reads the readiness route of the profile at its end, because no response may
    /// contain a secret; nil means false.
    package var readsReadinessRoute: Bool?
    /// Whether the run skips the sentinel at its end: the purchase of another user, which shows
    /// that all events were processed.
    ///
    /// The sentinel is skipped for backends that showed every effect at once. Nil in older saved
    /// runs.
    package var skipsSentinel: Bool?
    /// The time from the start of the run to the end of a period for which the contract writes
    /// `soon`; nil for the default, `soonPeriodDefault`.
    package var timeUntilSoonPeriodEnd: Duration?
    /// The timing of concurrent requests, which further runs vary; nil if all of them arrive at
    /// once.
    package var concurrentTiming: ConcurrentTiming?
    /// The durations by which the backend's clock is ahead of the machine's clock during the run.
    ///
    /// The durations apply one after the other and increase; the last one applies to the probes.
    /// Nil when the clock is not set.
    package var clock: [Duration]?
    /// The values that the contract defines for templates `{{some.NAME}}`, by name.
    package var values: [String: JSONValue] = [:]
    /// The values that the run draws for the parts that the contract leaves open; nil when it draws
    /// none.
    package var drawnValues: DrawnValues?

    package init(
        steps: [Step],
        users: [String],
        observesFinalState: Bool,
        extraObservationTime: Duration? = nil
    ) {
        self.steps = steps
        self.users = users
        self.observesFinalState = observesFinalState
        self.extraObservationTime = extraObservationTime
    }

    /// Returns the base time of the run, from which the times in the contract count.
    ///
    /// - Parameter suiteBase: The base time of the suite, a whole second.
    /// - Returns: The base time of the suite, less the drawn milliseconds.
    package func base(from suiteBase: Instant) -> Instant {
        suiteBase - .milliseconds(drawnValues?.millisecondsBeforeBase ?? 0)
    }

    package var deliveries: [Delivery] {
        steps.compactMap { if case .deliver(let delivery) = $0 { delivery } else { nil } }
    }

    /// The app's calls to the backend's routes, in order.
    package var calls: [Call] {
        steps.flatMap { step -> [Call] in if case .call(let calls) = step { calls } else { [] } }
    }

    /// The accounts that steps create, and those with which calls sign in, each once.
    package var accounts: [String] {
        let created = steps.compactMap { step in
            if case .createAccount(let account) = step { account } else { nil }
        }
        var seenAccounts: Set<String> = []
        return (created + calls.compactMap(\.account)).filter { seenAccounts.insert($0).inserted }
    }

    /// The steps that happen on phones, in order.
    package var phoneSteps: [PhoneStep] {
        steps.compactMap { if case .phone(let step) = $0 { step } else { nil } }
    }

    package var requests: [AppRequest] {
        steps.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// Whether the plan contains planned responses of a provider, such as failures.
    package var hasPlannedResponses: Bool {
        steps.contains { if case .provider = $0 { true } else { false } }
    }

    package var hasRestart: Bool {
        steps.contains(where: \.traits.endsBackendProcess)
    }

    /// Whether the plan changes the backend's clock, time zone or secrets, which get their former
    /// values at the end of the run.
    ///
    /// A state that is read after the run is then not the state that the run tests.
    package var changesBackendConditions: Bool {
        clock != nil
            || steps.contains { step in
                if case .restart(let restart) = step {
                    restart.timeZone != nil || restart.secretChange != nil
                } else {
                    false
                }
            }
    }

    /// Whether the plan lets time pass between deliveries, by a delay or by planned retries.
    ///
    /// Retries that the backend causes by rejecting a delivery are not planned and do not count.
    package var hasPlannedDelays: Bool {
        deliveries.contains {
            $0.delay > .zero || $0.followsRetrySchedule && $0.faultyAttemptCount > 0
        }
    }

    /// Whether the backend's clock has to show the time of the machine during the run, instead of a
    /// set time.
    ///
    /// This is required by steps on phones, by a subscription that ends soon, and by a restart of
    /// the process.
    package var requiresMachineTime: Bool {
        !phoneSteps.isEmpty || hasRestart || hasPeriodEndingSoon
    }

    /// Whether the plan contains a fault, so that the backend's retry timers decide when the run is
    /// over.
    package var hasFaults: Bool { steps.contains(where: \.traits.endDependsOnBackendTimers) }

    /// Whether the plan sends concurrent copies of an event, whose connections stay open until all
    /// copies are ready.
    ///
    /// During this time, a backend that serves one connection at a time cannot serve other cases.
    package var sendsConcurrentCopies: Bool {
        deliveries.contains { $0.sendsCopiesConcurrently || $0.isConcurrentWithNext }
    }

    /// The number of concurrent copies at which a backend may run out of resources that all users
    /// share, such as database connections.
    private static let concurrentBurstSizeMin = 10

    /// Whether the plan sends enough requests at once to slow down cases that run in parallel.
    package var sendsRequestBurst: Bool {
        deliveries.contains {
            $0.sendsCopiesConcurrently && $0.times >= Self.concurrentBurstSizeMin
        }
    }

    /// Whether the run can slow down or block the whole backend process, so that effects of other
    /// runs come late.
    ///
    /// A provider that keeps the backend waiting blocks a backend with one worker. Many requests at
    /// once use up resources that all users share.
    package var mayBlockBackend: Bool {
        sendsRequestBurst
            || steps.contains { step in
                guard case .provider(let plan) = step else { return false }
                return plan.responses.contains(where: \.keepsCallerWaiting)
            }
    }

    /// Whether no other run may use the same backend process at the same time.
    package var needsBackendForItself: Bool { mustRunExclusively || mayBlockBackend }

    /// Whether the result of the run depends on exact timing that cannot be controlled.
    ///
    /// Examples are a kill of the backend, concurrent copies and a caller that disconnects.
    package var dependsOnTiming: Bool {
        deliveries.contains { delivery in
            delivery.crash?.killsBeforeResponse ?? false || delivery.disconnects > 0
                || delivery.sendsCopiesConcurrently && delivery.times > 1
                || delivery.isConcurrentWithNext
        }
    }

    /// Whether the run makes the backend act on all its users, including those of other runs.
    ///
    /// The exchanges of other runs then contain calls that their own steps did not cause.
    package var affectsAllUsers: Bool { calls.contains { $0.route == .reconcile } }

    /// The number of refused logins after which a backend may refuse every login for a while.
    private static let refusedLoginCountMin = 10

    /// Whether the run tries passwords until the backend limits the rate of logins (clause S-25),
    /// so that later logins fail.
    private var exhaustsLoginLimit: Bool {
        calls.count { $0.route == .login && $0.responses == .nonSuccess }
            >= Self.refusedLoginCountMin
    }

    /// Whether the run leaves many calls of the backend without a response, so that the backend may
    /// have no capacity for other work (clause S-06).
    ///
    /// The backend recovers when the calls without a response time out.
    private var exhaustsCallCapacity: Bool {
        leavesCallsWithoutResponse && deliveries.count >= Self.concurrentBurstSizeMin
    }

    /// Whether the plan leaves some calls of the backend without a response, so that the backend
    /// waits for its own timeout.
    package var leavesCallsWithoutResponse: Bool {
        steps.contains { step in
            if case .provider(let plan) = step { plan.responses.contains(.never) } else { false }
        }
    }

    /// Whether even a correct backend may serve other cases badly for a while after this run.
    package var degradesBackend: Bool { exhaustsLoginLimit || exhaustsCallCapacity }

    /// Whether the run affects something that other runs share, such as the backend's process,
    /// Firebase's keys or all users.
    package var mustRunExclusively: Bool {
        hasRestart || countsKeyFetches || affectsAllUsers
            || steps.contains(where: \.traits.affectsConcurrentRuns)
    }
}
