/// What one run does to the backend and which users it looks at afterwards.
///
/// Two cases with the same twin share one run of it: plans are compared by value.
package struct RunPlan: Hashable, Codable, Sendable {
    package var steps: [Step]
    package var users: [String]
    /// How many of the first steps are only what the others start from; nil in runs that were saved
    /// before it was told, and where the order of all steps is another.
    package var givenCount: Int?
    /// Whether the run settles and probes at its end.
    package var observes: Bool
    /// How long the run is watched, in real time, after everything has settled.
    package var watch: Duration?
    /// Whether the run counts what nobody in it can be named for.
    package var countsFetches = false
    /// Before a backend that was seen to show everything at once, nobody else's purchase is waited for
    /// at its end; nil in runs that were saved before it was told.
    package var isBrief: Bool?
    /// How long after the run's beginning `soon` is; nil: as early as possible.
    package var soon: Duration?
    /// How far the backend's clock may be ahead of the machine's while something happens.
    ///
    /// The least comes first; with the last it is looked at. Nil: nobody sets it.
    package var clock: [Duration]?
    /// What `{{some.NAME}}` stands for, where the contract says so.
    package var values: [String: JSONValue] = [:]

    package init(steps: [Step], users: [String], observes: Bool, watch: Duration? = nil) {
        self.steps = steps
        self.users = users
        self.observes = observes
        self.watch = watch
    }

    package var deliveries: [Delivery] {
        steps.compactMap { if case .deliver(let delivery) = $0 { delivery } else { nil } }
    }

    /// The calls of the app, in order.
    package var calls: [Call] {
        steps.flatMap { step -> [Call] in if case .call(let calls) = step { calls } else { [] } }
    }

    /// What happens on phones, in order.
    package var phoneSteps: [PhoneStep] {
        steps.compactMap { if case .phone(let step) = $0 { step } else { nil } }
    }

    package var requests: [AppRequest] {
        steps.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// Whether a provider's answers are planned.
    package var hasPlan: Bool {
        steps.contains { if case .provider = $0 { true } else { false } }
    }

    package var hasRestart: Bool {
        steps.contains(where: \.traits.restarts)
    }

    /// Whether time passes between its deliveries by plan: what a backend itself refuses may come
    /// again later as well.
    package var takesTime: Bool {
        deliveries.contains { $0.delay > .zero || $0.isAlongLadder && $0.disturbedCount > 0 }
    }

    /// Whether it goes by the machine's clock, so that the backend's has to show the same: a phone
    /// and an end that comes soon do, and a process that is started anew begins with it.
    package var keepsMachineTime: Bool { !phoneSteps.isEmpty || hasRestart || hasSoon }

    /// Whether anything fails in it by plan, so that the backend's own timers decide when it is
    /// over.
    package var isDisturbed: Bool { steps.contains(where: \.traits.isDisturbance) }

    /// Whether copies are held back, which starves everybody else of a backend that takes one
    /// connection at a time.
    package var hasHeldCopies: Bool { deliveries.contains { $0.isTogether || $0.isWithNext } }

    /// From so many copies at once on, a backend may run out of what all its users share.
    private static let burstMin = 10

    /// Whether so much comes at one moment that whoever plays beside it may go short.
    package var isBurst: Bool {
        deliveries.contains { $0.isTogether && $0.times >= Self.burstMin }
    }

    /// Whether what comes of it depends on a moment that nobody can choose exactly: a kill, copies
    /// in flight at once, a caller that hangs up.
    package var dependsOnMoment: Bool {
        deliveries.contains { delivery in
            delivery.crash?.interrupts ?? false || delivery.hangUps > 0
                || delivery.isTogether && delivery.times > 1 || delivery.isWithNext
        }
    }

    /// Whether it makes the backend act upon everybody whom it knows, the people of other runs
    /// included; what their journals say after it is no longer their own doing.
    package var touchesEverybody: Bool { calls.contains { $0.route == .reconcile } }

    /// So many refused logins may have the backend refuse everybody's for a while.
    private static let refusalsMin = 10

    /// Whether it guesses passwords until a backend that brakes does so (S-25): nobody can log in
    /// after it.
    private var wearsLoginOut: Bool {
        calls.count { $0.route == .login && $0.answers == .denied } >= Self.refusalsMin
    }

    /// Whether so many calls hang in it that a backend may have nobody left who makes those of
    /// others (S-06), until it gives them up.
    private var pilesCallsUp: Bool { hasHangingCalls && deliveries.count >= Self.burstMin }

    /// Whether calls of the backend are never answered in it, so that somebody waits for a limit.
    package var hasHangingCalls: Bool {
        steps.contains { step in
            if case .provider(let plan) = step { plan.answers.contains(.never) } else { false }
        }
    }

    /// Whether a correct backend may serve others badly for a while after it.
    package var wearsOut: Bool { wearsLoginOut || pilesCallsUp }

    /// Whether it touches what other runs share: the backend's process, Firebase's keys.
    package var needsSolitude: Bool {
        hasRestart || countsFetches || touchesEverybody
            || steps.contains(where: \.traits.isShared)
    }
}
