/// What one run left behind: everything a judge may look at.
package struct RunRecord: Hashable, Codable, Sendable {
    /// How the runner came to believe that nothing more would follow.
    package enum Settling: Hashable, Codable, Sendable, CustomStringConvertible {
        /// Nobody needed to wait.
        case notNeeded
        /// A later event's effect or state was seen, then the journal stayed quiet this long.
        case sentinel(quiet: Duration)
        /// The backend was seen to show everything at once, so nobody waited for a sentinel; the journal
        /// stayed quiet this long.
        case atOnce(quiet: Duration)
        /// There was no sentinel to see; the journal stayed quiet this long.
        case window(Duration)

        package var description: String {
            switch self {
            case .notNeeded: "no settling"
            case .sentinel(let quiet): "sentinel seen, then \(quiet.milliseconds) ms of quiet"
            case .atOnce(let quiet):
                "a backend that shows everything at once, then \(quiet.milliseconds) ms of quiet"
            case .window(let quiet): "no sentinel; \(quiet.milliseconds) ms of quiet"
            }
        }
    }

    /// Why the run says nothing about the backend.
    package enum Trouble: Hashable, Codable, Sendable {
        case registrationFailed(user: String, String)
        case backendGone(String)
        case journalGap
        case restartFailed(String)
        case probeFailed(String)
        /// What was to be disturbed never took place; the text says what was waited for.
        case disturbanceMissed(String)
        /// An act of the app or of the store did not end as it had to; the text says which and how.
        case actFailed(String)
        /// What was to end while the case goes on was over too soon; the text says what.
        case overTooSoon(String)
        /// The page of an app did not load, or reacts to nothing.
        case pageUnusable(String)
    }

    /// Time in which Assay itself did not run: a timer fired late, a queue stood, the process was
    /// stopped.
    ///
    /// What did not happen then proves nothing about a backend that shares the machine.
    package struct Starvation: Hashable, Codable, Sendable, CustomStringConvertible {
        /// Verdicts rest on waits of a second and more; what is longer than half of that may have
        /// decided one.
        package static let longestMax: Duration = .milliseconds(500)

        package var longest: Duration
        package var lost: Duration
        /// Whether it took time from the wait for the outcome, after the last step; nil in runs that
        /// were saved before it was told.
        private var tookFromWait: Bool?

        package init(longest: Duration, lost: Duration, tookFromWait: Bool? = nil) {
            self.longest = longest
            self.lost = lost
            self.tookFromWait = tookFromWait
        }

        /// Whether an outcome that was waited for may be missing because of it.
        package var heldUpTheWait: Bool { tookFromWait ?? true }

        package var description: String {
            "it stood for \(longest.milliseconds) ms at a stretch, \(lost.milliseconds) ms in all"
        }
    }

    package var plan: RunPlan
    package var namespace: Namespace
    /// The moment that the contract's relative times count from.
    package var base: Instant
    /// Real time from the first step to the last look.
    package var began: Instant
    package var ended: Instant
    /// What the backend's clock showed at the last look.
    package var lastLook: Instant { ended + (plan.clock?.last ?? .zero) }
    package var exchanges: [Exchange]
    package var settling: Settling
    package var trouble: Trouble?
    /// The backend that Assay started ended by itself during this run; the text says how.
    package var backendExit: String?
    /// While copies were held back on open connections, the backend answered nobody else.
    package var isSerialised = false
    /// What the machine took from Assay during this run; nil when it took nothing worth a word.
    package var starvation: Starvation?
    /// The pause between the last two attempts of a call, when the waiting ended although the backend
    /// was still trying; nil when it was not.
    package var openRetry: Duration?

    /// How long something was waited for that did not come; nil where nothing was missing.
    package var waited: Duration?

    /// Why it was not waited for as long as it might; nil when it was.
    package var shortened: Shortened?

    /// A wait that another case had made to the end before.
    package struct Shortened: Hashable, Codable, Sendable, CustomStringConvertible {
        package let caseID: String
        package let full: Duration
        package let enough: Duration

        /// - Parameters:
        ///   - caseID: The case that waited to the end.
        ///   - full: How long that was.
        ///   - enough: How long this one waited.
        package init(after caseID: String, full: Duration, enough: Duration) {
            (self.caseID, self.full, self.enough) = (caseID, full, enough)
        }

        package var description: String {
            "it was waited for \(enough.milliseconds) ms only: "
                + "'\(caseID)' had waited \(full.milliseconds) ms for the same, in vain; "
                + "a last look is taken when all are over"
        }
    }

    package init(
        plan: RunPlan,
        namespace: Namespace,
        base: Instant,
        began: Instant,
        ended: Instant,
        exchanges: [Exchange],
        settling: Settling,
        trouble: Trouble? = nil,
        backendExit: String? = nil
    ) {
        self.plan = plan
        self.namespace = namespace
        self.base = base
        self.began = began
        self.ended = ended
        self.exchanges = exchanges
        self.settling = settling
        self.trouble = trouble
        self.backendExit = backendExit
    }

    /// What calibration learned about looking at this backend.
    package struct Sight: Hashable, Codable, Sendable {
        /// A plain purchase made the backend read RevenueCat's REST API.
        package var readsSubscribers = false
        /// A plain purchase led to a push that a fake saw.
        package var seesEffects: Bool
        /// A plain purchase changed what a probe answers.
        package var seesState: Bool
        /// The places that each probe's answers about it had, by the probe's name; nil when nobody
        /// looked.
        package var places: [String: [JSONPointer]]?
        /// How long the slower of both took.
        package var latency: Duration
        /// A purchase is seen only some time after its answer: the backend takes note of events and
        /// works later, as senders advise; nil in runs that were saved before it was told.
        package var worksLater: Bool?
        /// What the backend answered to the plain purchase that shows nowhere.
        package var plainAnswer: String?

        /// What probes answer about an id that nobody has, where that is a document, by the probe's
        /// name and without the id.
        package var nobody: [String: JSONValue]?
        /// Probes that answer the same about somebody who exists, so that they cannot tell.
        package var cannotTell: [String]?
        /// Probes that find somebody who is registered and has bought nothing, and do not find nobody:
        /// they show who exists; nil in runs that were saved before it was told.
        package var showsPeople: [String]?

        /// Whether somebody looked and a plain purchase showed nowhere.
        package var isBlind: Bool { !seesEffects && !seesState }

        package init(seesEffects: Bool, seesState: Bool, latency: Duration) {
            self.seesEffects = seesEffects
            self.seesState = seesState
            self.latency = latency
        }
    }
}
