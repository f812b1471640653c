package import Browser
package import Conformance
package import FakeServers
internal import Phone
internal import Providers

/// A device scenario of a real web app in a real browser: phones are browser contexts, launches are
/// pages, and the shim stands where the native runtime would.
package final class BrowserScenario: Sendable {
    /// What every scenario of a run shares.
    package struct Setting: Sendable {
        package let chromium: Chromium
        package let url: String
        package let profile: Profile
        package let base: Instant
        /// Hosts other than loopback that a page may call.
        package let allowedHosts: Set<String>
        package let clock: any RunClock
        /// How much of the time we had.
        package let heartbeat: Heartbeat
        /// How much of it the pages had.
        package let pulse: BrowserPulse
        /// When one more scenario may begin.
        let admission: BrowserAdmission
        /// Hosts that pages wanted to call and were not allowed to.
        package let blockedHosts = Locked<Set<String>>([])

        package init(
            chromium: Chromium,
            url: String,
            profile: Profile,
            base: Instant,
            allowedHosts: Set<String>,
            openingMax: Int,
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
            admission = BrowserAdmission(openingMax: openingMax, clock: clock) { pulse.slowdown }
        }

        /// Goes on beside all scenarios until it is cancelled.
        package func accompany() async {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.heartbeat.beat() }
                group.addTask { await self.pulse.beat() }
            }
        }

        /// By so much waits are longer while pages starve.
        var stretch: Int { min(Patience.stretchMax, Int(pulse.slowdown)) }
    }

    struct State {
        var world: PhoneWorld
        var contexts: [String: String] = [:]
        var pages: [String: [BrowserPage]] = [:]
        var tasks: [Task<Void, Never>] = []
        /// Calls to the backend that are not answered yet, and whether somebody waits for that.
        var open: [Int: Bool] = [:]
        /// The same calls, by the browser's name for them.
        var calls: [String: Int] = [:]
        /// A wait ended because the machine took too much of it.
        var wasCut = false
        /// Pages whose scripts have run.
        var loaded: Set<String> = []
        /// When the page last said anything, and when the last reply reaches it.
        var lastSign: Int64 = 0
        var repliesUntil: Int64 = 0
        var kills = KillWatch()
        /// Where the journal stood when the act began that goes on.
        var actStart = 0
        var agrees = false
        var trouble: RunRecord.Trouble?
        /// Calls of the page's own backend, by the browser's number for them.
        var passed: [String: Int] = [:]
    }

    let setting: Setting
    let state: Locked<State>
    /// By which it was let in; nil: nobody had to let it in.
    let number: Int?
    private let start: Duration

    /// So long the page has to keep silent before it counts as done.
    static let quiet: Int64 = 250_000
    /// So long a page may take to do anything about a tap, unless a question to the native side is
    /// open, which may take the whole startup budget.
    static let reaction: Int64 = 2_500_000
    /// So long the scripts of a page may take to arrive and run.
    static let loading: Duration = .seconds(30)

    init(_ name: String, _ setting: Setting, number: Int? = nil) {
        self.setting = setting
        self.number = number
        start = setting.clock.now
        var generator = SeededGenerator(seed: 0, text: name)
        state = Locked(
            State(
                world: PhoneWorld(
                    name: name,
                    profile: setting.profile,
                    base: setting.base,
                    seed: generator.next(),
                    // Late is what comes after the app has given up, not after the package has.
                    late: setting.profile.app.startup + .seconds(2)
                )
            )
        )
    }

    /// Carries a scenario out.
    ///
    /// - Parameters:
    ///   - plan: The contract's steps.
    ///   - name: The namespace of the run.
    ///   - setting: Browser, page and profile.
    ///   - judging: The judge, who gets a picture of a page that is not green.
    ///   - pictured: Takes a picture of every page, as the bytes of a PNG; nil: nobody wants them all.
    /// - Returns: What the run left behind.
    package static func run(
        _ plan: RunPlan,
        name: String,
        setting: Setting,
        judging: DeviceStage.Judging,
        pictured: (@Sendable ([UInt8]) -> Void)? = nil
    ) async -> RunRecord {
        let number = await setting.admission.enter()
        defer { setting.admission.leave(number) }
        let scenario = BrowserScenario(name, setting, number: number)
        let record = await scenario.run(plan, judging.mayImprove)
        let isGreen = judging.isGreen(record)
        if pictured != nil || !isGreen, let text = await scenario.page("phone")?.picture() {
            if let pictured, let bytes = Base64.bytes(text) { pictured(bytes) }
            if !isGreen { judging.keep(text) }
        }
        await scenario.close()
        return record
    }

    var profile: Profile { setting.profile }
    var clock: any RunClock { setting.clock }
    var devTools: DevTools { setting.chromium.devTools }

    /// Microseconds since the scenario began.
    var now: Int64 { (clock.now - start).microseconds }

    func edit<Result>(_ body: (inout State, Int64) -> Result) -> Result {
        let time = now
        return state.withLock { body(&$0, time) }
    }

    func page(_ phone: String) -> BrowserPage? {
        state.withLock { $0.pages[phone]?.last }
    }

    // MARK: The scenario

    private func run(
        _ plan: RunPlan,
        _ mayImprove: @Sendable (RunRecord) -> Bool
    ) async -> RunRecord {
        var performer = self
        for step in plan.steps {
            if Task.isCancelled || state.withLock({ $0.trouble }) != nil { break }
            await PhonePlay.carryOut(step, by: &performer)
        }
        await wait(atMost: profile.app.startup.microseconds) { state, _ in
            state.repliesUntil == 0
        }
        var record = await look(plan)
        let patience = Patience(profile.app.startup, setting.heartbeat, clock)
        while record.trouble == nil, mayImprove(record), !patience.isOver, !Task.isCancelled {
            await clock.pause(.milliseconds(60))
            record = await look(plan)
        }
        if patience.isCut {
            state.withLock { $0.wasCut = true }
            record = await look(plan)
        }
        return record
    }

    /// What is known so far, with a look at every page and phone.
    private func look(_ plan: RunPlan) async -> RunRecord {
        for phone in state.withLock({ $0.pages.keys.sorted() }) {
            guard let page = page(phone) else { continue }
            let shown = await screen(page)
            edit { state, time in
                if let shown { state.world.writeScreen(shown, of: phone, at: time) }
            }
        }
        return edit { state, time in
            for phone in state.world.phones { state.world.observe(phone, at: time) }
            var record = RunRecord(
                plan: plan,
                namespace: state.world.namespace,
                base: setting.base,
                began: setting.base,
                ended: state.world.instant(time),
                exchanges: state.world.exchanges,
                settling: .window(.microseconds(Self.quiet)),
                trouble: state.trouble
            )
            // Waits count the time that pages had; only one that was cut short is in doubt.
            record.starvation = setting.heartbeat.starvation(
                since: start,
                waitBegan: setting.clock.now,
                isCut: state.wasCut
            )
            return record
        }
    }

    func close() async {
        let (pages, contexts, tasks) = state.withLock { state in
            defer { state.pages = [:] }
            return (state.pages.values.flatMap { $0 }, state.contexts.values, state.tasks)
        }
        for page in pages { page.close() }
        for task in tasks { task.cancel() }
        for context in contexts { await dispose(context) }
    }

    func dispose(_ context: String) async {
        _ = try? await devTools.send(
            "Target.disposeBrowserContext",
            ["browserContextId": .string(context)]
        )
    }

    // MARK: Waiting

    /// Waits until the page is quiet and the condition holds, or the time is over.
    func wait(
        atMost time: Int64,
        until isMet: @Sendable (State, Int64) -> Bool = { _, _ in true }
    ) async {
        let patience = Patience(.microseconds(time), setting.heartbeat, clock)
        while !Task.isCancelled {
            let quiet = Self.quiet * Int64(setting.stretch)
            let isOver = edit { state, now in
                if state.repliesUntil > 0, now >= state.repliesUntil { state.repliesUntil = 0 }
                let isQuiet =
                    !state.open.values.contains(true) && now >= state.lastSign + quiet
                    && now >= state.repliesUntil
                return state.trouble != nil || patience.isOver || isQuiet && isMet(state, now)
            }
            if isOver {
                if patience.isCut { state.withLock { $0.wasCut = true } }
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
