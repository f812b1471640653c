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
        /// Hosts that pages wanted to call and were not allowed to.
        package let blockedHosts = Locked<Set<String>>([])

        package init(
            chromium: Chromium,
            url: String,
            profile: Profile,
            base: Instant,
            allowedHosts: Set<String>
        ) {
            self.chromium = chromium
            self.url = url
            self.profile = profile
            self.base = base
            self.allowedHosts = allowedHosts
        }
    }

    private struct State {
        var world: PhoneWorld
        var contexts: [String: String] = [:]
        var pages: [String: [BrowserPage]] = [:]
        var tasks: [Task<Void, Never>] = []
        /// Calls to the backend that are not answered yet.
        var underway = 0
        /// When the page last said anything, and when the last reply reaches it.
        var lastSign: Int64 = 0
        var repliesUntil: Int64 = 0
        var killAt: AppAction.KillPoint?
        /// Phones whose page dies instead of saying anything more.
        var dies: Set<String> = []
        var agrees = false
        var trouble: String?
        /// Calls of the page's own backend, by the browser's number for them.
        var passed: [String: Int] = [:]
    }

    private let setting: Setting
    private let state: Locked<State>
    private let start = ContinuousClock().now

    /// So long the page has to keep silent before it counts as done.
    private static let quiet: Int64 = 250_000
    /// So long a page may take to do anything about a tap, unless a question to the native side is
    /// open, which may take the whole startup budget.
    private static let reaction: Int64 = 2_500_000

    private init(_ name: String, _ setting: Setting) {
        self.setting = setting
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
    ///   - mayImprove: Whether waiting longer could change the verdict.
    ///   - pictured: Takes what the page showed in the end, as the bytes of a PNG; nil: nobody looks.
    /// - Returns: What the run left behind.
    package static func run(
        _ plan: RunPlan,
        name: String,
        setting: Setting,
        mayImprove: @Sendable (RunRecord) -> Bool,
        pictured: (@Sendable ([UInt8]) -> Void)? = nil
    ) async -> RunRecord {
        let scenario = BrowserScenario(name, setting)
        let record = await scenario.run(plan, mayImprove)
        if let pictured, let text = await scenario.page("phone")?.picture(),
            let bytes = Base64.bytes(text)
        {
            pictured(bytes)
        }
        await scenario.close()
        return record
    }

    /// Opens the page once, before any scenario.
    ///
    /// - Returns: Why it cannot be opened; nil when it can.
    package static func check(_ setting: Setting) async -> String? {
        let scenario = BrowserScenario("check", setting)
        var action = AppAction(.launch)
        action.isAtOnce = true
        await scenario.act(action)
        let trouble = scenario.state.withLock { $0.trouble }
        await scenario.close()
        return trouble
    }

    private var profile: Profile { setting.profile }
    private var devTools: DevTools { setting.chromium.devTools }

    /// Microseconds since the scenario began.
    private var now: Int64 {
        let time = (ContinuousClock().now - start).components
        return time.seconds * 1_000_000 + time.attoseconds / 1_000_000_000_000
    }

    private func edit<Result>(_ body: (inout State, Int64) -> Result) -> Result {
        let time = now
        return state.withLock { body(&$0, time) }
    }

    private func page(_ phone: String) -> BrowserPage? {
        state.withLock { $0.pages[phone]?.last }
    }

    // MARK: The scenario

    private func run(
        _ plan: RunPlan,
        _ mayImprove: @Sendable (RunRecord) -> Bool
    ) async -> RunRecord {
        for step in plan.steps {
            if Task.isCancelled || state.withLock({ $0.trouble }) != nil { break }
            switch step {
            case .name(let user, let id): edit { state, _ in state.world.assign(id, to: user) }
            case .phone(.phone(let change)): await apply(change)
            case .phone(.bridge(let plan)): edit { state, _ in state.world.apply(plan) }
            case .phone(.backend(let plan)): edit { state, _ in state.world.backend.take(plan) }
            case .phone(.app(let action)): await act(action)
            default: break
            }
        }
        await wait(atMost: profile.app.startup.microseconds) { state, _ in
            state.repliesUntil == 0
        }
        var record = await look(plan)
        let deadline = now + profile.app.startup.microseconds
        while record.trouble == nil, mayImprove(record), now < deadline, !Task.isCancelled {
            try? await ContinuousClock().sleep(for: .milliseconds(60))
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
                if let shown { state.world.screen(shown, phone, at: time) }
            }
        }
        return edit { state, time in
            for phone in state.world.phones { state.world.observe(phone, at: time) }
            return RunRecord(
                plan: plan,
                namespace: state.world.namespace,
                base: setting.base,
                began: setting.base,
                ended: state.world.instant(time),
                exchanges: state.world.exchanges,
                settling: .window(.microseconds(Self.quiet)),
                trouble: state.trouble.map { .pageUnusable($0) }
            )
        }
    }

    private func close() async {
        let (pages, contexts, tasks) = state.withLock { state in
            defer { state.pages = [:] }
            return (state.pages.values.flatMap { $0 }, state.contexts.values, state.tasks)
        }
        for page in pages { page.close() }
        for task in tasks { task.cancel() }
        for context in contexts {
            _ = try? await devTools.send(
                "Target.disposeBrowserContext",
                ["browserContextId": .string(context)]
            )
        }
    }

    // MARK: Waiting

    /// Waits until the page is quiet and the condition holds, or the time is over.
    private func wait(
        atMost time: Int64,
        until isMet: @Sendable (State, Int64) -> Bool = { _, _ in true }
    ) async {
        let end = now + time
        while !Task.isCancelled {
            let isOver = edit { state, now in
                if state.repliesUntil > 0, now >= state.repliesUntil { state.repliesUntil = 0 }
                let isQuiet =
                    state.underway == 0 && now >= state.lastSign + Self.quiet
                    && now >= state.repliesUntil
                return state.trouble != nil || now >= end || isQuiet && isMet(state, now)
            }
            if isOver { return }
            try? await ContinuousClock().sleep(for: .milliseconds(15))
        }
    }

    /// Waits for what an act leads to: an acknowledged registration of that phone, or that nothing
    /// more can be expected.
    private func settle(_ action: AppAction, since sequence: Int) async {
        let profile = profile
        let phone = action.phone
        @Sendable func has(
            _ state: State,
            _ test: (ClientTimeline) -> Bool
        ) -> Bool {
            test(timeline(state, from: sequence))
        }
        switch action.name {
        case .launch, .launchTwice, .reload:
            let isNative = edit { state, _ in state.world.isNative(phone) }
            await wait(
                atMost: isNative ? profile.app.startup.microseconds + 500_000 : 800_000
            ) { state, _ in
                has(state) { $0.registrations.contains { $0.isAcknowledged } }
            }
        case .login, .logout, .restore:
            let began = now
            await wait(atMost: profile.app.startup.microseconds + 500_000) { state, now in
                has(state) { timeline in
                    if timeline.registrations.contains(where: \.isAcknowledged) { return true }
                    return now > began + Self.reaction && !timeline.hasOpenQuestion
                }
            }
        case .upgrade, .upgradeTwice, .purchase:
            await wait(atMost: Self.reaction) { state, _ in
                has(state) { $0.commands.contains(where: \.isPaywall) }
            }
        case .status:
            let began = now
            await wait(atMost: profile.app.startup.microseconds) { state, now in
                has(state) { !$0.hasOpenQuestion && now > began + 2 * Self.quiet }
            }
        case .callback: await wait(atMost: Self.reaction)
        case .kill, .wait, .signUp, .signIn, .google, .forgotPassword, .deleteAccount, .refresh:
            break
        }
    }

    private func timeline(_ state: State, from sequence: Int) -> ClientTimeline {
        ClientTimeline(
            RunRecord(
                plan: RunPlan(steps: [], users: [], observes: false),
                namespace: state.world.namespace,
                base: setting.base,
                began: setting.base,
                ended: setting.base,
                exchanges: Array(state.world.exchanges.dropFirst(sequence)),
                settling: .notNeeded
            ),
            profile: profile
        )
    }

    // MARK: Phones

    private func apply(_ change: PhoneChange) async {
        let phone = change.phone
        let calls = edit { state, time in state.world.apply(change, at: time) }
        if !calls.isEmpty { tell(.array(calls), phone) }
        switch change.act {
        case .reinstall:
            await closePages(phone)
            let context = state.withLock { $0.contexts.removeValue(forKey: phone) }
            if let context {
                _ = try? await devTools.send(
                    "Target.disposeBrowserContext",
                    ["browserContextId": .string(context)]
                )
            }
        case .complete, .cancel, .fail: await wait(atMost: Self.reaction)
        case .secondPhone, .cloned, .loseID, nil: break
        }
    }

    private func closePages(_ phone: String) async {
        let pages = state.withLock { $0.pages.removeValue(forKey: phone) ?? [] }
        for page in pages { page.close() }
    }

    private func context(_ phone: String) async throws(DevTools.CallError) -> String {
        if let known = state.withLock({ $0.contexts[phone] }) { return known }
        let made = try await devTools.send(
            "Target.createBrowserContext",
            ["disposeOnDetach": true]
        )
        let context = made["browserContextId"]?.string ?? ""
        state.withLock { $0.contexts[phone] = context }
        return context
    }

    /// Opens the app on a phone; what cannot be opened is the scenario's trouble.
    private func open(_ phone: String, isReload: Bool) async {
        do throws(DevTools.CallError) {
            let context = try await context(phone)
            let launch = edit { state, time in
                state.lastSign = time
                return state.world.launch(phone, isReload: isReload, at: time)
            }
            let page = try await BrowserPage(
                devTools,
                context: context,
                phone: phone,
                load: launch.load
            )
            let events = page.events
            let task = Task { [weak self] in
                for await event in events {
                    guard let self else { return }
                    await self.take(event, page)
                }
            }
            state.withLock { state in
                state.pages[phone, default: []].append(page)
                state.tasks.append(task)
            }
            try await page.prepare(
                script: DespiaShim.script(
                    device: launch.device,
                    load: launch.load,
                    channel: .binding(BrowserPage.binding)
                ),
                userAgent: launch.device["userAgent"]?.string ?? ""
            )
            let time = profile.app.startup + .seconds(10)
            if let text = await page.open(setting.url, within: time) {
                // A page that is killed while it loads has not failed to load.
                let isOpen = state.withLock { $0.pages[phone]?.contains { $0 === page } ?? false }
                if isOpen { fail("\(setting.url): \(text)") }
            }
        } catch {
            fail("\(error)")
        }
    }

    private func fail(_ text: String) {
        state.withLock { $0.trouble = $0.trouble ?? text }
    }

    // MARK: Acts

    private func act(_ action: AppAction) async {
        let phone = action.phone
        let sequence = edit { state, time in
            state.killAt = action.killedAt
            state.agrees = action.agrees
            state.lastSign = time
            return state.world.exchanges.count
        }
        switch action.name {
        case .launch:
            await closePages(phone)
            await open(phone, isReload: false)
        case .launchTwice:
            await closePages(phone)
            // Both pages share one web storage.
            _ = try? await context(phone)
            async let first: Void = open(phone, isReload: false)
            async let second: Void = open(phone, isReload: false)
            _ = await (first, second)
        case .reload:
            await closePages(phone)
            await open(phone, isReload: true)
        case .kill:
            gesture("kill", phone)
            await closePages(phone)
        case .upgrade: await tap("upgrade", phone)
        case .upgradeTwice:
            await tap("upgrade", phone)
            await tap("upgrade", phone)
        case .purchase:
            await tap("upgrade", phone)
            await settle(action, since: sequence)
            var change = PhoneChange()
            change.phone = phone
            change.act = .complete
            await apply(change)
        case .restore: await tap("restore", phone)
        case .logout: await tap("logout", phone)
        case .status: await tap("status", phone)
        case .login:
            await fill(action)
            await tap("login", phone)
        case .callback:
            gesture("callback", phone)
            let arguments = action.argument.map { JSONValue.array([$0]) } ?? []
            // The result channel always carries its envelope.
            let names =
                ["onRevenueCatPurchase", "iapSuccess"]
                + (action.argument == nil ? [] : ["onRevenueCatResult"])
            let calls = names.map { name -> JSONValue in
                [
                    "kind": "callback", "name": .string(name), "arguments": arguments,
                    "delay": 1,
                ]
            }
            tell(.array(calls), phone)
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount, .refresh: break
        case .wait:
            gesture("wait", phone)
            let time = (action.time ?? .zero).microseconds
            let end = now + time
            await wait(atMost: time) { _, now in now >= end }
        }
        if !action.isAtOnce { await settle(action, since: sequence) }
        if action.agrees, let selector = profile.app.agree {
            _ = await page(phone)?.evaluate(Self.clicking(selector))
            await settle(action, since: sequence)
        }
        state.withLock { state in
            state.killAt = nil
            state.dies.remove(phone)
        }
    }

    private func gesture(_ name: String, _ phone: String, missing: String? = nil) {
        edit { state, time in state.world.gesture(name, phone, missing: missing, at: time) }
    }

    /// Taps what the profile names; the journal says when there is nothing to tap.
    private func tap(_ name: String, _ phone: String) async {
        guard let selector = profile.app.taps[name] else {
            gesture(name, phone, missing: "app: taps: \(name)")
            return
        }
        guard let page = page(phone) else { return gesture(name, phone, missing: selector) }
        // An upgrade that nobody can see or press is a gate that is shut.
        let test =
            name == "upgrade"
            ? "found.checkVisibility({opacityProperty: true, visibilityProperty: true}) "
                + "&& !found.disabled" : "true"
        let isThere = await page.evaluate(
            "(function () { var found = document.querySelector(\(quoted(selector))); "
                + "return found !== null && \(test); })()"
        )
        gesture(name, phone, missing: isThere == false ? selector : nil)
        if isThere == false { return }
        guard await page.evaluate(Self.clicking(selector)) != nil else {
            edit { state, time in
                state.world.pageError("the page does not react to a tap", phone, at: time)
            }
            return
        }
    }

    private static func clicking(_ selector: String) -> String {
        "(function () { var found = document.querySelector(\(quoted(selector))); "
            + "if (found) found.click(); return found !== null; })()"
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).text }

    private func quoted(_ text: String) -> String { Self.quoted(text) }

    private func fill(_ action: AppAction) async {
        let namespace = state.withLock { $0.world.namespace }
        let account = action.account ?? ""
        let values = [
            "account": namespace.accountID(of: account),
            "password": namespace.password(of: account),
        ]
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let selector = profile.app.inputs[name] else { continue }
            // Frameworks listen to the setter of the element's own class.
            _ = await page(action.phone)?.evaluate(
                "(function () { var found = document.querySelector(\(quoted(selector))); "
                    + "if (!found) return false; Object.getOwnPropertyDescriptor("
                    + "Object.getPrototypeOf(found), 'value').set.call(found, \(quoted(value))); "
                    + "found.dispatchEvent(new Event('input', {bubbles: true})); "
                    + "found.dispatchEvent(new Event('change', {bubbles: true})); return true; })()"
            )
        }
    }

    /// What the page shows of what the profile names; nil when it does not answer.
    private func screen(_ page: BrowserPage) async -> JSONValue? {
        let selectors = JSONObject(
            members: profile.app.shows.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                .init(key: $0.key.rawValue, value: .string($0.value))
            }
        )
        let found = await page.evaluate(
            "(function (names) { var shown = {}; Object.keys(names).forEach(function (name) { "
                + "var element = document.querySelector(names[name]); "
                + "var isVisible = !!element && element.getClientRects().length > 0 && "
                + "element.checkVisibility({opacityProperty: true, visibilityProperty: true}); "
                + "shown[name] = isVisible ? (element.textContent || '').trim() : null; }); "
                + "return JSON.stringify(shown); })(\(JSONValue.object(selectors).text))"
        )
        guard let text = found?.string, let shown = try? JSONValue(parsing: text) else {
            return nil
        }
        var result = JSONObject()
        for member in shown.object?.members ?? [] {
            switch AppExpectation.Screen.Element(rawValue: member.key) {
            case .loading, .access, .error: result[member.key] = .bool(!member.value.isNull)
            case .status: result[member.key] = status(member.value)
            case .product:
                let text = member.value.string ?? ""
                let named = profile.app.productNames.first { text.contains($0.value) }
                result[member.key] = named.map { .string($0.key) } ?? member.value
            case nil: result[member.key] = member.value
            }
        }
        return .object(result)
    }

    /// What the page's words mean: `active`, `none`, or that it is not known.
    private func status(_ value: JSONValue) -> JSONValue {
        guard let text = value.string?.lowercased() else { return .null }
        for name in ["none", "active"]
        where profile.app.statusWords[name]?.contains(where: { text.contains($0.lowercased()) })
            ?? false
        {
            return .string(name)
        }
        return "unknown"
    }

    // MARK: What the page says

    private func take(_ event: DevTools.Event, _ page: BrowserPage) async {
        let parameters = event.parameters
        switch event.method {
        case "Runtime.bindingCalled":
            guard let text = parameters["payload"]?.string,
                let content = try? JSONValue(parsing: text)
            else { return }
            said(content, page)
        case "Fetch.requestPaused":
            guard let request = PageRequest(parameters) else { return }
            await hold(request, page)
        case "Page.frameRequestedNavigation":
            // A page may also send its commands by going there (section 7.1).
            guard let url = parameters["url"]?.string,
                let scheme = url.split(separator: ":").first.map(String.init),
                BridgeCommand.schemes.contains(scheme)
            else { return }
            command(url, time: 0, page)
        case "Page.javascriptDialogOpening":
            let kind = parameters["type"]?.string ?? ""
            let agrees = state.withLock { $0.agrees }
            page.say(
                "Page.handleJavaScriptDialog",
                ["accept": .bool(["alert", "beforeunload"].contains(kind) || agrees)]
            )
        case "Inspector.targetCrashed":
            edit { state, time in
                state.world.pageError("the page crashed", page.phone, at: time)
                state.pages[page.phone]?.removeAll { $0 === page }
            }
        default: break
        }
    }

    private func said(_ content: JSONValue, _ page: BrowserPage) {
        switch content["kind"]?.string {
        case "start":
            edit { state, time in
                state.lastSign = time
                state.world.gesture("page-started", page.phone, at: time)
            }
        case "command":
            command(content["command"]?.string ?? "", time: content["page"]?.int64 ?? 0, page)
        case "error":
            edit { state, time in
                state.world.pageError(content["text"]?.string ?? "", page.phone, at: time)
            }
        default: break
        }
    }

    private func command(_ text: String, time page: Int64, _ from: BrowserPage) {
        if dies(from) { return }
        let (reply, isKilled) = edit { state, time -> (JSONValue, Bool) in
            state.lastSign = time
            let reply = state.world.command(
                text,
                from.phone,
                load: from.load,
                page: page,
                at: time
            )
            let delays = (reply["replies"]?.array ?? []).compactMap { $0["delay"]?.int64 }
            if let last = delays.max() {
                state.repliesUntil = max(state.repliesUntil, time + last * 1000 + 50_000)
            }
            let command = BridgeCommand(text)
            let isKilled =
                state.killAt == .idWritten && command.scheme == "setvault"
                && command["key"] == state.world.key(.id)
            return (reply, isKilled)
        }
        if isKilled { return kill(from) }
        from.apply(reply)
    }

    private func tell(_ calls: JSONValue, _ phone: String) {
        edit { state, time in
            state.lastSign = time
            state.repliesUntil = max(state.repliesUntil, time + 100_000)
        }
        page(phone)?.apply(["replies": calls])
    }

    /// Whether the page dies instead of saying this.
    private func dies(_ page: BrowserPage) -> Bool {
        let dies = state.withLock { $0.dies.contains(page.phone) }
        if dies { kill(page) }
        return dies
    }

    private func kill(_ page: BrowserPage) {
        edit { state, time in
            state.killAt = nil
            state.dies.remove(page.phone)
            state.world.gesture("kill", page.phone, at: time)
            state.pages[page.phone]?.removeAll { $0 === page }
        }
        page.close()
    }

    // MARK: The page's calls

    private func hold(_ request: PageRequest, _ page: BrowserPage) async {
        if request.answeredStatus != nil || request.failure != nil {
            return await answered(request, page)
        }
        if let host = request.host, !LoopbackHost.isLoopback(host),
            !setting.allowedHosts.contains(host)
        {
            setting.blockedHosts.withLock { _ = $0.insert(host) }
            return refuse(request, page)
        }
        let route = state.withLock {
            $0.world.backend.route(request.message.method, request.message.target)
        }
        guard let route else {
            if request.message.method == "OPTIONS", request.origin != nil {
                return preflight(request, page)
            }
            return page.say("Fetch.continueRequest", ["requestId": .string(request.number)])
        }
        if dies(page) { return }
        let (sequence, answer) = edit { state, time in
            state.lastSign = time
            state.underway += 1
            guard profile.app.usesOwnBackend else {
                let (sequence, answer) = state.world.call(
                    route,
                    request.message,
                    page.phone,
                    load: page.load,
                    at: time
                )
                return (sequence, Optional(answer))
            }
            return state.world.pass(
                route,
                request.message,
                page.phone,
                load: page.load,
                at: time
            )
        }
        switch answer {
        case nil:
            state.withLock { $0.passed[page.session + request.number] = sequence }
            page.say(
                "Fetch.continueRequest",
                ["requestId": .string(request.number), "interceptResponse": true]
            )
        case .reset?:
            finish(sequence, .failed(.closed, "by plan"))
            refuse(request, page, reason: "ConnectionReset")
        case .never?:
            // It stays open; nobody waits for it.
            state.withLock { $0.underway -= 1 }
        case .answered(let response, let delay)?:
            if delay > .zero {
                // The plan says how long this answer takes.
                let task = Task { [weak self] in
                    try? await ContinuousClock().sleep(for: delay)
                    self?.answer(request, response, sequence, route, page)
                }
                state.withLock { $0.tasks.append(task) }
            } else {
                self.answer(request, response, sequence, route, page)
            }
        }
    }

    private func finish(_ sequence: Int, _ outcome: Exchange.Outcome) {
        edit { state, time in
            state.lastSign = time
            state.underway -= 1
            state.world.complete(sequence, outcome, at: time)
        }
    }

    private func answer(
        _ request: PageRequest,
        _ response: HTTPMessage.Response,
        _ sequence: Int,
        _ route: String,
        _ page: BrowserPage
    ) {
        finish(sequence, .answered(response))
        if isKilled(at: route, page) { return }
        fulfil(request, response, page)
    }

    /// Whether an answer to that route is where the page is to die.
    private func isKilled(at route: String, _ page: BrowserPage) -> Bool {
        let moment = state.withLock { state in
            let moment = state.killAt
            if route == "login", moment == .loggedIn { state.dies.insert(page.phone) }
            return moment
        }
        guard route == "register", moment == .registered else { return false }
        kill(page)
        return true
    }

    private func fulfil(
        _ request: PageRequest,
        _ response: HTTPMessage.Response,
        _ page: BrowserPage
    ) {
        let fields = (response.fields + request.openHeaders).map { field -> JSONValue in
            ["name": .string(field.name), "value": .string(field.value)]
        }
        page.say(
            "Fetch.fulfillRequest",
            [
                "requestId": .string(request.number),
                "responseCode": .integer(Int64(response.status)),
                "responseHeaders": .array(fields), "body": .string(Base64.text(response.body)),
            ]
        )
    }

    private func refuse(
        _ request: PageRequest,
        _ page: BrowserPage,
        reason: String = "BlockedByClient"
    ) {
        page.say(
            "Fetch.failRequest",
            ["requestId": .string(request.number), "errorReason": .string(reason)]
        )
    }

    /// A page of another origin asks whether it may call.
    private func preflight(_ request: PageRequest, _ page: BrowserPage) {
        let wanted = request.message[field: "access-control-request-headers"] ?? "content-type"
        fulfil(
            request,
            HTTPMessage.Response(
                204,
                fields: [
                    HTTPMessage.Field("access-control-allow-methods", "GET, POST, PUT, DELETE"),
                    HTTPMessage.Field("access-control-allow-headers", wanted),
                ]
            ),
            page
        )
    }

    /// The page's own backend has answered.
    private func answered(_ request: PageRequest, _ page: BrowserPage) async {
        let sequence = state.withLock {
            $0.passed.removeValue(forKey: page.session + request.number)
        }
        if let sequence {
            if let status = request.answeredStatus {
                let held = await page.ask(
                    "Fetch.getResponseBody",
                    ["requestId": .string(request.number)]
                )
                let text = held?["body"]?.string ?? ""
                let body =
                    held?["base64Encoded"] == true
                    ? Base64.bytes(text) ?? [] : Array(text.utf8)
                finish(
                    sequence,
                    .answered(
                        HTTPMessage.Response(status, fields: request.answeredFields, body: body)
                    )
                )
            } else {
                finish(sequence, .failed(.closed, request.failure ?? ""))
            }
            let route = state.withLock {
                $0.world.backend.route(request.message.method, request.message.target)
            }
            if let route, isKilled(at: route, page) { return }
        }
        page.say("Fetch.continueResponse", ["requestId": .string(request.number)])
    }
}

extension Duration {
    fileprivate var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
