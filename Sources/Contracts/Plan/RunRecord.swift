package import Providers
package import Values

/// The record of one run: its plan, its exchanges and everything else that a rule of judgment may
/// use.
package struct RunRecord: Hashable, Codable, Sendable {
    /// The evidence that the backend had finished its work (had settled) at the end of the run.
    package enum SettleEvidence: Hashable, Codable, Sendable, CustomStringConvertible {
        /// The run needed no wait for the backend.
        case notNeeded
        /// The effect of the sentinel, a last event, was seen; then the journal got no new entry
        /// for this time.
        case sentinel(quietDuration: Duration)
        /// No sentinel was sent, because the backend shows every effect at once; the journal got no
        /// new entry for this time.
        case effectsVisibleAtOnce(quietDuration: Duration)
        /// No effect of the sentinel, a last event, was seen; the journal got no new entry for this
        /// time.
        case window(Duration)

        package var description: String {
            switch self {
            case .notNeeded: "not needed"
            case .sentinel(let quietDuration):
                "sentinel event seen, then no activity for \(quietDuration.milliseconds) ms"
            case .effectsVisibleAtOnce(let quietDuration):
                "backend applies events at once; no activity for \(quietDuration.milliseconds) ms"
            case .window(let quietDuration):
                "no sentinel event seen; no activity for \(quietDuration.milliseconds) ms"
            }
        }
    }

    /// The problem of a run that prevents a verdict about the backend.
    package enum RunProblem: Hashable, Codable, Sendable {
        case registrationFailed(user: String, String)
        case backendGone(String)
        case journalGap
        case restartFailed(String)
        case probeFailed(String)
        /// A planned fault never took effect; the string describes the call that was missing.
        case faultNotApplied(String)
        /// An action of the app or the store did not end as planned; the string describes the
        /// action.
        case actionFailed(String)
        /// A subscription period that should end during the case ended too early; the string
        /// describes the period.
        case periodEndedTooEarly(String)
        /// The page of the app did not load or did not react to input; the string describes the
        /// problem.
        case pageUnusable(String)
    }

    /// The time in which Assay itself was paused: a timer fired late, a queue stalled, or the
    /// process was stopped.
    ///
    /// An effect that is missing after such a pause proves nothing about a backend on the same
    /// machine.
    package struct Starvation: Hashable, Codable, Sendable, CustomStringConvertible {
        /// The longest pause that cannot change a verdict.
        ///
        /// Verdicts depend on waits of at least one second, and a pause longer than half a second
        /// may use up too much of such a wait.
        package static let harmlessPauseMax: Duration = .milliseconds(500)

        package var longestPause: Duration
        package var lostTime: Duration
        /// Whether a pause used up time of the wait after the last step; nil in older saved runs.
        private var didUseUpWaitTime: Bool?

        package init(longestPause: Duration, lostTime: Duration, didUseUpWaitTime: Bool? = nil) {
            self.longestPause = longestPause
            self.lostTime = lostTime
            self.didUseUpWaitTime = didUseUpWaitTime
        }

        /// Whether an expected effect or state may be missing because a pause used up time of the
        /// wait.
        package var didShortenWait: Bool { didUseUpWaitTime ?? true }

        package var description: String {
            "up to \(longestPause.milliseconds) ms at a time, \(lostTime.milliseconds) ms in total"
        }
    }

    package var plan: RunPlan
    package var namespace: Namespace
    /// The time from which the contract's relative times, such as `+5m`, are counted.
    package var base: Instant
    /// The real time of the first step; `ended` is the real time of the last probe.
    package var began: Instant
    package var ended: Instant
    /// The time on the backend's clock at the last probe.
    package var lastProbeTime: Instant { ended + (plan.clock?.last ?? .zero) }
    package var exchanges: [Exchange]
    package var settleEvidence: SettleEvidence
    package var runProblem: RunProblem?
    /// The reason why the backend process exited during the run; nil when it kept running.
    package var backendExitReason: String?
    /// Whether the backend serves one request at a time: it answered no request while incomplete
    /// requests were open.
    package var servesOneRequestAtATime = false
    /// The time in which Assay itself was paused during the run; nil when it was negligible.
    package var starvation: Starvation?
    /// The pause between the last two attempts of a call that the backend was still retrying when
    /// the wait ended; nil without such a call.
    package var openRetryPause: Duration?

    /// The time spent waiting for an effect or a state that did not come; nil when nothing was
    /// missing.
    package var unsuccessfulWaitTime: Duration?

    /// The reason why the wait after the last step was shortened; nil when it had its full length.
    package var shortened: ShortenedWait?

    /// A wait that was shortened, because another case had waited the full time for the same
    /// outcome without success.
    package struct ShortenedWait: Hashable, Codable, Sendable, CustomStringConvertible {
        package let caseID: String
        package let fullTimeout: Duration
        package let shortenedTimeout: Duration

        /// Creates the record of a shortened wait.
        ///
        /// - Parameters:
        ///   - caseID: The ID of the case that had waited the full time.
        ///   - fullTimeout: The length of that case's wait.
        ///   - shortenedTimeout: The length of the shortened wait.
        package init(after caseID: String, fullTimeout: Duration, shortenedTimeout: Duration) {
            (self.caseID, self.fullTimeout, self.shortenedTimeout) = (
                caseID, fullTimeout, shortenedTimeout
            )
        }

        package var description: String {
            "the wait was only \(shortenedTimeout.milliseconds) ms long, because "
                + "'\(caseID)' had waited \(fullTimeout.milliseconds) ms for the same outcome without "
                + "success; "
                + "the state is checked once more after all cases"
        }
    }

    package init(
        plan: RunPlan,
        namespace: Namespace,
        base: Instant,
        began: Instant,
        ended: Instant,
        exchanges: [Exchange],
        settleEvidence: SettleEvidence,
        runProblem: RunProblem? = nil,
        backendExitReason: String? = nil
    ) {
        self.plan = plan
        self.namespace = namespace
        self.base = base
        self.began = began
        self.ended = ended
        self.exchanges = exchanges
        self.settleEvidence = settleEvidence
        self.runProblem = runProblem
        self.backendExitReason = backendExitReason
    }

    /// The results of a purchase that Assay can observe with this backend, such as pushes.
    ///
    /// Assay determines them before the first case with two plain purchases (purchases without
    /// faults).
    package struct Observability: Hashable, Codable, Sendable {
        /// Whether a plain purchase made the backend send a request to RevenueCat's REST API.
        package var readsSubscribersOverREST = false
        /// Whether a plain purchase caused a push that a fake received.
        package var arePushesObservable: Bool
        /// Whether a plain purchase changed the response of a probe.
        package var areProbeChangesObservable: Bool
        /// The JSON paths in each probe's responses after the plain purchases, by probe name.
        ///
        /// Nil when no plain purchase was made before the first case.
        package var valuePaths: [String: [JSONPointer]]?
        /// The time from a plain purchase until its push and the changed state were both seen.
        package var latency: Duration
        /// Whether a purchase takes effect only some time after the response, because the backend
        /// queues events.
        ///
        /// Providers recommend such a queue. Nil in older saved runs.
        package var appliesEventsLater: Bool?
        /// The status of the backend's response to a plain purchase that had no visible result;
        /// otherwise nil.
        package var plainPurchaseStatus: String?

        /// Each probe's response about an unknown ID, by probe name, with the ID replaced by a
        /// token.
        ///
        /// A probe is listed only when its response was a JSON document.
        package var unknownUserDocuments: [String: JSONValue]?
        /// The names of the probes that return the same response for an existing user as for an
        /// unknown ID.
        ///
        /// Such a probe cannot show whether a user exists.
        package var probesNotShowingExistence: [String]?
        /// The names of the probes that find a registered user without purchases and do not find an
        /// unknown ID.
        ///
        /// These probes show which users exist. Nil in older saved runs.
        package var probesShowingExistence: [String]?

        /// Whether a plain purchase before the first case had no visible result: no push and no
        /// changed probe response.
        package var showsNoPurchase: Bool { !arePushesObservable && !areProbeChangesObservable }

        package init(arePushesObservable: Bool, areProbeChangesObservable: Bool, latency: Duration)
        {
            self.arePushesObservable = arePushesObservable
            self.areProbeChangesObservable = areProbeChangesObservable
            self.latency = latency
        }
    }
}
