package import Browser
package import Contracts
internal import Phone
internal import Providers
package import Values

/// A scenario (a contract for an app on a phone) that runs with a real web app in a real browser.
///
/// Each simulated phone is a browser context, and each launch is a page. A script that Assay
/// injects into the page replaces the native runtime of the phone.
package final class BrowserScenario: Sendable {
    /// The browser, the profile and the measurements that all scenarios of a run share.
    package struct Configuration: Sendable {
        package let chromium: Chromium
        package let url: String
        package let profile: Profile
        package let base: Instant
        /// The hosts other than loopback that pages may call.
        package let allowedHosts: Set<String>
        package let clock: any RunClock
        /// The object that measures how much processor time Assay's process gets.
        package let heartbeat: Heartbeat
        /// The object that measures how much processor time the pages get.
        package let pulse: BrowserPulse
        /// The object that limits the number of scenarios that begin at the same time.
        let admission: BrowserAdmission
        /// The hosts outside of `allowedHosts` that pages tried to call; these calls were blocked.
        package let blockedHosts = Locked<Set<String>>([])

        package init(
            chromium: Chromium,
            url: String,
            profile: Profile,
            base: Instant,
            allowedHosts: Set<String>,
            concurrentLoadMax: Int,
            clock: any RunClock
        ) {
            self.chromium = chromium
            self.url = url
            self.profile = profile
            self.base = base
            self.allowedHosts = allowedHosts
            self.clock = clock
            heartbeat = Heartbeat(clock)
            pulse = BrowserPulse(chromium.devTools, heartbeat, clock)
            let pulse = pulse
            admission = BrowserAdmission(concurrentLoadMax: concurrentLoadMax, clock: clock) {
                pulse.slowdown
            }
        }

        /// Measures lost processor time while scenarios run, until the task is canceled.
        package func monitorLoad() async {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.heartbeat.beat() }
                group.addTask { await self.pulse.beat() }
            }
        }

        /// The factor by which waits are extended while pages have too little processor time; 1
        /// means unchanged.
        var waitFactor: Int { min(SettleTimeout.stretchFactorMax, Int(pulse.slowdown)) }
    }

    struct State {
        var simulatedPhones: SimulatedPhones
        var contextIDs: [String: String] = [:]
        var pages: [String: [BrowserPage]] = [:]
        var tasks: [Task<Void, Never>] = []
        /// The calls from pages to the backend that have no outcome yet, by journal number.
        ///
        /// The value is false for a call that will never get a response, because no wait depends on
        /// such a call.
        var isResponseExpectedByCall: [Int: Bool] = [:]
        /// The journal numbers of calls to the backend, by page session and the browser's request
        /// ID.
        var callSequencesByRequest: [String: Int] = [:]
        /// Whether a wait ended early because the machine was too busy.
        var hasEndedWaitEarly = false
        /// The browser sessions of the pages that have loaded.
        var loadedSessions: Set<String> = []
        /// The time of the last activity of a page, in microseconds since the scenario began.
        ///
        /// `lastReplyTime` is the time when the last reply of the native runtime reaches the page,
        /// also in microseconds since the scenario began.
        var lastActivityTime: Int64 = 0
        var lastReplyTime: Int64 = 0
        var killPointTracker = KillPointTracker()
        /// The number of entries in the journal when the current user action began.
        var actionStartIndex = 0
        var confirmsPrompts = false
        var runProblem: RunRecord.RunProblem?
        /// The journal numbers of calls that were passed on to the page's own backend.
        ///
        /// The key is the page session and the browser's request ID.
        var forwardedCallSequences: [String: Int] = [:]
    }

    let configuration: Configuration
    let state: Locked<State>
    /// The number that `BrowserAdmission` gave to the scenario; nil for a scenario that began
    /// without admission.
    let number: Int?
    private let start: Duration

    /// The silence after which a page counts as having finished its work, in microseconds.
    static let quietTimeInMicroseconds: Int64 = 250_000
    /// The longest time for the reaction of a page to a tap, in microseconds.
    ///
    /// If the page waits for the native runtime, the limit is the startup time in the profile
    /// instead.
    static let reactionLimit: Int64 = 2_500_000
    /// The longest time for the scripts of a page to load and run.
    static let loadTimeMax: Duration = .seconds(30)

    init(_ name: String, _ configuration: Configuration, number: Int? = nil) {
        self.configuration = configuration
        self.number = number
        start = configuration.clock.now
        var generator = SeededGenerator(seed: 0, text: name)
        state = Locked(
            State(
                simulatedPhones: SimulatedPhones(
                    name: name,
                    profile: configuration.profile,
                    base: configuration.base,
                    seed: generator.next(),
                    // A delayed reply arrives after the app itself, and not only its client
                    // library, has stopped waiting for the reply.
                    late: configuration.profile.app.startupTimeout + .seconds(2)
                )
            )
        )
    }

    /// Runs a scenario in the browser, and returns its record.
    ///
    /// - Parameters:
    ///   - plan: The steps of the contract.
    ///   - name: The namespace of the run.
    ///   - configuration: The browser, the page and the profile.
    ///   - judging: Judges the run, and stores a screenshot of a page that failed.
    ///   - onScreenshot: Receives a screenshot of the page, as the bytes of a PNG, for every
    ///     verdict; nil if only screenshots of failures are wanted.
    /// - Returns: The record of the run.
    package static func run(
        _ plan: RunPlan,
        name: String,
        configuration: Configuration,
        judging: DeviceTarget.ScenarioJudge,
        onScreenshot: (@Sendable ([UInt8]) -> Void)? = nil
    ) async -> RunRecord {
        let number = await configuration.admission.waitForAdmission()
        defer { configuration.admission.endScenario(number) }
        let scenario = BrowserScenario(name, configuration, number: number)
        let record = await scenario.run(plan, judging.mayResolveWithLongerWait)
        let isPassed = judging.isPassed(record)
        if onScreenshot != nil || !isPassed, let text = await scenario.page("phone")?.screenshot() {
            if let onScreenshot, let bytes = Base64.bytes(text) { onScreenshot(bytes) }
            if !isPassed { judging.storeScreenshot(text) }
        }
        await scenario.close()
        return record
    }

    var profile: Profile { configuration.profile }
    var clock: any RunClock { configuration.clock }
    var devTools: DevTools { configuration.chromium.devTools }

    /// The number of microseconds since the scenario began.
    var now: Int64 { (clock.now - start).microseconds }

    func edit<Result>(_ body: (inout State, Int64) -> Result) -> Result {
        let time = now
        return state.withLock { body(&$0, time) }
    }

    func page(_ phone: String) -> BrowserPage? {
        state.withLock { $0.pages[phone]?.last }
    }

    func screen(of page: BrowserPage) -> BrowserScreen {
        BrowserScreen(page: page, app: profile.app, configuration: configuration)
    }

    // MARK: The scenario

    private func run(
        _ plan: RunPlan,
        _ mayResolveWithLongerWait: @Sendable (RunRecord) -> Bool
    ) async -> RunRecord {
        var executor = self
        for step in plan.steps {
            if Task.isCancelled || state.withLock({ $0.runProblem }) != nil { break }
            await PhoneExecution.carryOut(step, by: &executor)
        }
        await wait(atMost: profile.app.startupTimeout.microseconds) { state, _ in
            state.lastReplyTime == 0
        }
        var record = await currentRecord(plan)
        let settleTimeout = SettleTimeout(
            profile.app.startupTimeout,
            configuration.heartbeat,
            clock
        )
        while record.runProblem == nil, mayResolveWithLongerWait(record), !settleTimeout.isOver,
            !Task.isCancelled
        {
            await clock.pause(.milliseconds(60))
            record = await currentRecord(plan)
        }
        if settleTimeout.isCutShort {
            state.withLock { $0.hasEndedWaitEarly = true }
            record = await currentRecord(plan)
        }
        return record
    }

    /// Returns the record of the scenario up to now, after reading the state of all pages and
    /// phones.
    private func currentRecord(_ plan: RunPlan) async -> RunRecord {
        for phone in state.withLock({ $0.pages.keys.sorted() }) {
            guard let page = page(phone) else { continue }
            let screenContent = await screen(of: page).content()
            edit { state, time in
                if let screenContent {
                    state.simulatedPhones.recordScreen(screenContent, of: phone, at: time)
                }
            }
        }
        return edit { state, time in
            for phone in state.simulatedPhones.phones {
                state.simulatedPhones.recordPhoneData(phone, at: time)
            }
            var record = RunRecord(
                plan: plan,
                namespace: state.simulatedPhones.namespace,
                base: configuration.base,
                began: configuration.base,
                ended: state.simulatedPhones.instant(time),
                exchanges: state.simulatedPhones.exchanges,
                settleEvidence: .window(.microseconds(Self.quietTimeInMicroseconds)),
                runProblem: state.runProblem
            )
            // Waits do not count time in which pages had no processor time, so only a wait that was
            // cut short is in doubt.
            record.starvation = configuration.heartbeat.starvation(
                since: start,
                waitStartTime: configuration.clock.now,
                isCutShort: state.hasEndedWaitEarly
            )
            return record
        }
    }

    func close() async {
        let (pages, contextIDs, tasks) = state.withLock { state in
            defer { state.pages = [:] }
            return (state.pages.values.flatMap { $0 }, state.contextIDs.values, state.tasks)
        }
        for page in pages { page.close() }
        for task in tasks { task.cancel() }
        for contextID in contextIDs { await closeContext(contextID) }
    }

    func closeContext(_ contextID: String) async {
        // A browser that has ended has no contexts left.
        _ = try? await devTools.send(
            "Target.disposeBrowserContext",
            ["browserContextId": .string(contextID)]
        )
    }

    // MARK: Waiting

    /// Waits until the page is quiet and a condition holds, or the given time in microseconds is
    /// over.
    func wait(
        atMost time: Int64,
        until isMet: @Sendable (State, Int64) -> Bool = { _, _ in true }
    ) async {
        let settleTimeout = SettleTimeout(.microseconds(time), configuration.heartbeat, clock)
        while !Task.isCancelled {
            let quietTimeInMicroseconds =
                Self.quietTimeInMicroseconds * Int64(configuration.waitFactor)
            let isOver = edit { state, now in
                if state.lastReplyTime > 0, now >= state.lastReplyTime { state.lastReplyTime = 0 }
                let isQuiet =
                    !state.isResponseExpectedByCall.values.contains(true)
                    && now >= state.lastActivityTime + quietTimeInMicroseconds
                    && now >= state.lastReplyTime
                return state.runProblem != nil || settleTimeout.isOver
                    || isQuiet && isMet(state, now)
            }
            if isOver {
                if settleTimeout.isCutShort { state.withLock { $0.hasEndedWaitEarly = true } }
                return
            }
            await clock.pause(.milliseconds(15))
        }
    }
}

extension Duration {
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
