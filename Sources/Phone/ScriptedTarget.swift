package import Contracts
package import Judging
package import Providers
package import Values

/// Carries out phone steps with the scripted app on every phone.
///
/// Time is virtual, in milliseconds; no sockets, clocks or browsers are used.
///
/// Waiting takes no real time, so a test of a timeout of thirty seconds is fast.
package struct ScriptedTarget<Environment: PhoneEnvironment>: Sendable {
    private enum Event: Sendable {
        case dispatchCommand(String)
        case assign(String, JSONValue)
        case call(String, [JSONValue])
        case response(Int, route: String, sequence: Int, Exchange.Outcome)
        case wake
        case input(ScriptedApp.Input)
    }

    private struct ScheduledEvent: Sendable {
        let time: Int64
        let order: Int
        let phone: String
        let page: Int
        let event: Event
    }

    private struct Page: Sendable {
        let number: Int
        let launch: PhoneLaunch
        let openedAtMilliseconds: Int64
        var app: ScriptedApp
        var scheduledWakeTimes: Set<Int64> = []
    }

    package var environment: Environment
    /// The reason why the run is inconclusive; nil when it is conclusive so far.
    package private(set) var runProblem: String?
    private let defects: Set<ClientDefect>
    private let seed: UInt64
    private var eventQueue: [ScheduledEvent] = []
    private var lastEventOrder = 0
    /// The virtual time, in milliseconds since the contract's first step.
    private var nowMilliseconds: Int64 = 0
    /// The open pages of each phone; usually one page.
    private var pages: [String: [Page]] = [:]
    private var pageCount = 0
    private var storages: [String: ScriptedApp.Storage] = [:]
    private var killPointTracker = KillPointTracker()

    /// The duration of a call to the app's backend, in milliseconds.
    private static var callDurationMilliseconds: Int64 { 60 }
    /// The time to wait for the app's reaction to a user action, in milliseconds.
    private static var settleTimeoutMilliseconds: Int64 { 90_000 }

    /// Creates an executor of phone steps.
    ///
    /// - Parameters:
    ///   - environment: The environment of the phones: bridge, backend and journal.
    ///   - defects: The built-in defects that the scripted app has; empty for a correct app.
    ///   - seed: The seed of the random values of all pages.
    package init(_ environment: Environment, defects: Set<ClientDefect>, seed: UInt64) {
        self.environment = environment
        self.defects = defects
        self.seed = seed
    }

    /// The virtual time, in microseconds since the contract's first step.
    package var time: Int64 { nowMilliseconds * 1000 }

    /// Runs until no event is pending, and records the final state of every page and phone in the
    /// journal.
    package mutating func finish() async {
        await settle()
        for phone in pages.keys.sorted() {
            environment.recordScreen(
                pages[phone]?.last?.app.page.screen ?? .null,
                of: phone,
                at: time
            )
        }
        for phone in environment.phones { environment.recordPhoneData(phone, at: time) }
    }

    // MARK: Pages

    private mutating func openPage(on phone: String, isReload: Bool) async {
        let launch = environment.launch(phone, isReload: isReload, at: time)
        pageCount += 1
        let number = pageCount
        var globals = launch.device["globals"]?.object ?? JSONObject()
        for member in launch.device["globalDelays"]?.object?.members ?? [] {
            let (name, delay) = (member.key, member.value.int64 ?? 0)
            guard delay > 0, let value = globals[name] else { continue }
            globals[name] = nil
            scheduleEvent(nowMilliseconds + delay, phone, number, .assign(name, value))
        }
        var generator = SeededGenerator(seed: seed, text: "\(phone)/\(number)")
        let app = ScriptedApp(
            globals: globals,
            userAgent: launch.userAgent,
            keys: environment.profile.app.vaultKeys,
            storage: storages[phone] ?? ScriptedApp.Storage(),
            defects: defects,
            seed: generator.next()
        )
        let page = Page(
            number: number,
            launch: launch,
            openedAtMilliseconds: nowMilliseconds,
            app: app
        )
        pages[phone, default: []].append(page)
        await change(phone, number) { $0.start(at: $1) }
    }

    private mutating func kill(_ phone: String) {
        killPointTracker.end(phone)
        environment.write(UserAction("kill"), on: phone, at: time)
        pages[phone] = nil
    }

    // MARK: Events

    private mutating func scheduleEvent(_ time: Int64, _ phone: String, _ page: Int, _ event: Event)
    {
        lastEventOrder += 1
        eventQueue.append(
            ScheduledEvent(
                time: time,
                order: lastEventOrder,
                phone: phone,
                page: page,
                event: event
            )
        )
    }

    /// Runs until the app has reacted to all events so far.
    private mutating func settle() async {
        await run(until: nowMilliseconds + Self.settleTimeoutMilliseconds)
    }

    private mutating func run(until end: Int64) async {
        while !Task.isCancelled,
            let next = eventQueue.indices.min(by: {
                (eventQueue[$0].time, eventQueue[$0].order) < (
                    eventQueue[$1].time, eventQueue[$1].order
                )
            }), eventQueue[next].time <= end
        {
            let nextEvent = eventQueue.remove(at: next)
            nowMilliseconds = max(nowMilliseconds, nextEvent.time)
            await deliverEvent(nextEvent.event, nextEvent.phone, nextEvent.page)
        }
    }

    private mutating func deliverEvent(_ event: Event, _ phone: String, _ number: Int) async {
        guard let page = pages[phone]?.first(where: { $0.number == number }) else {
            // The page is closed and does not receive the event. The journal still records the
            // backend's response.
            if case .response(_, _, let sequence, let outcome) = event {
                environment.complete(sequence, outcome, at: time)
            }
            return
        }
        switch event {
        case .dispatchCommand(let text): await dispatchCommand(text, page)
        case .assign(let name, let value):
            await change(phone, number) { $0.handleInput(.globalAssigned(name, value), at: $1) }
        case .call(let name, let arguments):
            environment.write(
                .called(name, exists: page.app.hasCallback(name)),
                on: phone,
                at: time
            )
            await change(phone, number) { $0.handleInput(.called(name, arguments), at: $1) }
        case .response(let call, let route, let sequence, let outcome):
            environment.complete(sequence, outcome, at: time)
            if killPointTracker.answered(route, on: phone) { return kill(phone) }
            let (status, body) = Self.statusAndBody(outcome)
            await change(phone, number) {
                $0.handleInput(.answered(call, status: status, body), at: $1)
            }
        case .wake: await change(phone, number) { $0.handleInput(.tick, at: $1) }
        case .input(let input): await change(phone, number) { $0.handleInput(input, at: $1) }
        }
    }

    /// Returns the status and the body of a response as the app receives them; a nil status when
    /// there is no response.
    private static func statusAndBody(_ outcome: Exchange.Outcome) -> (
        status: Int?, body: JSONValue
    ) {
        guard case .answered(let response) = outcome else { return (nil, .null) }
        return (response.status, response.bodyJSON ?? .null)
    }

    private mutating func dispatchCommand(_ text: String, _ page: Page) async {
        let phone = page.launch.page.name
        if killPointTracker.isBeingKilled(phone) { return kill(phone) }
        let reply = environment.command(
            text,
            from: page.launch.page,
            pageTime: nowMilliseconds - page.openedAtMilliseconds,
            at: time
        )
        scheduleReplies(reply["replies"]?.array ?? [], on: phone, pages: [page.number])
        if killPointTracker.killsAfter(BridgeCommand(text), idKey: environment.key(.id)) {
            kill(phone)
        }
    }

    /// Schedules the replies of the native side, which set global variables or call functions of
    /// the page, after their delays.
    private mutating func scheduleReplies(_ replies: [JSONValue], on phone: String, pages: [Int]) {
        for reply in replies {
            let name = reply["name"]?.string ?? ""
            let delay = max(1, reply["delay"]?.int64 ?? 0)
            let event: Event =
                reply["kind"] == "callback"
                ? .call(name, reply["arguments"]?.array ?? [])
                : .assign(name, reply["value"] ?? .null)
            for number in pages { scheduleEvent(nowMilliseconds + delay, phone, number, event) }
        }
    }

    /// Delivers an event to a page, and carries out the bridge commands and backend calls that the
    /// page returns.
    private mutating func change(
        _ phone: String,
        _ number: Int,
        _ body: (inout ScriptedApp, Int64) -> [ScriptedApp.Output]
    ) async {
        guard var phonePages = pages[phone],
            let index = phonePages.firstIndex(where: { $0.number == number })
        else { return }
        // Two pages of one phone share its web storage.
        if phonePages.count > 1, let storage = storages[phone] {
            phonePages[index].app.storage = storage
        }
        let outputs = body(&phonePages[index].app, nowMilliseconds)
        storages[phone] = phonePages[index].app.storage
        let page = phonePages[index]
        if let wake = page.app.nextWakeTime, !page.scheduledWakeTimes.contains(wake) {
            phonePages[index].scheduledWakeTimes.insert(wake)
            scheduleEvent(max(nowMilliseconds, wake), phone, number, .wake)
        }
        pages[phone] = phonePages
        for output in outputs {
            switch output {
            case .command(let text, let at):
                scheduleEvent(max(nowMilliseconds, at), phone, number, .dispatchCommand(text))
            case .call(let call, let route, let values): await sendCall(call, route, values, page)
            case .error(let text): environment.write(.pageError(text), on: phone, at: time)
            }
        }
    }

    private mutating func sendCall(
        _ call: Int,
        _ route: String,
        _ values: [String: String],
        _ page: Page
    ) async {
        let phone = page.launch.page.name
        if killPointTracker.isBeingKilled(phone) { return kill(phone) }
        let callResult = await environment.call(route, values, from: page.launch.page, at: time)
        guard let (sequence, response) = callResult else { return }
        switch response {
        case .answered(let response, let delay):
            scheduleEvent(
                nowMilliseconds + Self.callDurationMilliseconds + delay.milliseconds,
                phone,
                page.number,
                .response(call, route: route, sequence: sequence, .answered(response))
            )
        case .reset:
            scheduleEvent(
                nowMilliseconds + Self.callDurationMilliseconds,
                phone,
                page.number,
                .response(call, route: route, sequence: sequence, .failed(.closed, "planned reset"))
            )
        case .never: break
        }
    }
}

extension ScriptedTarget: PhoneExecutor {
    package var namespace: Namespace { environment.namespace }
    package var timeline: ClientTimeline { environment.timeline() }

    package mutating func assign(_ id: String, to user: String) { environment.assign(id, to: user) }

    package mutating func fail(_ text: String) { runProblem = runProblem ?? text }

    package mutating func recordUserAction(_ userAction: UserAction, on phone: String) {
        environment.write(userAction, on: phone, at: time)
    }

    package mutating func begin(_ action: AppAction) { killPointTracker.begin(action) }

    /// Does nothing, so that the kill point of the action stays set.
    ///
    /// The app may reach this kill point only during the next action.
    package mutating func end(_ action: AppAction) {}

    package func app(for action: AppAction) -> AppAction.App { environment.app(for: action) }

    package mutating func performAccountAction(_ action: AppAction) async {
        if let text = await environment.performAccountAction(action) { fail(text) }
    }

    package mutating func open(_ pageCount: Int, on phone: String, isReload: Bool) async {
        for _ in 0..<pageCount { await openPage(on: phone, isReload: isReload) }
    }

    package mutating func closePages(of phone: String) { pages[phone] = nil }

    package mutating func removeApp(_ phone: String) {
        storages[phone] = nil
        pages[phone] = nil
    }

    package mutating func tap(_ tap: Tap, on phone: String) async {
        recordUserAction(UserAction(tap.name), on: phone)
        for page in pages[phone] ?? [] {
            await deliverEvent(.input(Self.input(tap)), phone, page.number)
        }
    }

    private static func input(_ tap: Tap) -> ScriptedApp.Input {
        switch tap {
        case .upgrade: .upgrade
        case .restore: .restore
        case .logout: .logout
        case .status: .status
        case .login(let account, let password, let agreesToReplacement):
            .login(account: account, password: password, agreesToReplacement: agreesToReplacement)
        }
    }

    package mutating func reply(_ replies: [JSONValue], on phone: String) {
        scheduleReplies(replies, on: phone, pages: (pages[phone] ?? []).map(\.number))
    }

    package mutating func advanceTime(_ time: Duration) async {
        let end = nowMilliseconds + time.milliseconds
        await run(until: end)
        nowMilliseconds = max(nowMilliseconds, end)
    }

    package mutating func waitBetweenTaps() async { await advanceTime(.milliseconds(50)) }

    package mutating func apply(_ change: PhoneChange, product: String?) -> [JSONValue] {
        environment.apply(change, product: product, at: time)
    }

    package mutating func take(_ plan: BridgePlan) { environment.take(plan) }

    package mutating func take(_ plan: AppBackendPlan) { environment.take(plan) }

    package mutating func carryOut(_ act: FakeStoreAction) {
        if let refusal = environment.carryOut(act) { fail(refusal) }
    }

    /// Waits after a user action.
    ///
    /// After a start, it waits only for the startup budget of the profile, because a user would not
    /// wait for the last retry.
    package mutating func settle(after action: AppAction) async {
        guard action.name.isLaunch || action.name == .reload else { return await settle() }
        await run(
            until: nowMilliseconds + environment.profile.app.startupTimeout.milliseconds + 500
        )
    }

    package mutating func settle(after act: PhoneChange.OwnerAction) async { await settle() }
}
