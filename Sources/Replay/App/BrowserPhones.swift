package import Conformance
internal import Browser
internal import FakeServers
package import Phone

/// Executes the phone steps of a contract on real pages; each simulated phone is a browser context.
extension BrowserScenario: PhonePerformer {
    package var namespace: Namespace { state.withLock { $0.world.namespace } }

    package var timeline: ClientTimeline { state.withLock { $0.world.timeline() } }

    package func assign(_ id: String, to user: String) {
        edit { state, _ in state.world.assign(id, to: user) }
    }

    package func fail(_ text: String) {
        state.withLock { $0.trouble = $0.trouble ?? .disturbanceMissed(text) }
    }

    /// Records that the page cannot be opened, which ends the scenario.
    private func failToOpen(_ text: String) {
        state.withLock { $0.trouble = $0.trouble ?? .pageUnusable(text) }
    }

    package func note(_ gesture: Gesture, on phone: String) {
        edit { state, time in state.world.write(gesture, on: phone, at: time) }
    }

    // MARK: Acts

    package func begin(_ action: AppAction) {
        edit { state, time in
            state.kills.begin(action)
            state.agrees = action.agrees
            state.lastSign = time
            state.actStart = state.world.exchanges.count
        }
    }

    package func end(_ action: AppAction) async {
        if action.agrees, let selector = profile.app.agree {
            _ = await page(action.phone)?.evaluate(Self.clicking(selector))
            await settle(after: action)
        }
        state.withLock { $0.kills.end(action.phone) }
    }

    package func app(for action: AppAction) -> AppAction.App {
        state.withLock { $0.world.app(for: action) }
    }

    package func use(_ action: AppAction) async {
        if let text = await state.withLock({ $0.world }).use(action) { fail(text) }
    }

    /// Taps the page element whose CSS selector the profile contains for this kind of tap.
    ///
    /// If the page does not have the element, the journal records that.
    package func tap(_ tap: Tap, on phone: String) async {
        if case .login(let account, let password, _) = tap {
            await fill(["account": account, "password": password], on: page(phone))
        }
        guard let path = profile.app.taps[tap.name], let selector = path.last else {
            return note(Gesture(tap.name, missing: "app: taps: \(tap.name)"), on: phone)
        }
        guard let page = page(phone) else {
            return note(Gesture(tap.name, missing: selector), on: phone)
        }
        // A tap on the menu would close it if it is already open.
        let isOpen = await survey([selector], on: page)?.first == .there
        for opener in path.dropLast() where !isOpen {
            guard await comes(opener, on: page) else {
                return note(Gesture(tap.name, missing: opener), on: phone)
            }
            _ = await page.evaluate(Self.clicking(opener))
            // The second step of a login may have separate input fields.
            if case .login(let account, let password, _) = tap {
                _ = await comes(selector, on: page)
                await fill(["account": account, "password": password], on: page)
            }
        }
        // Some menus add their entries to the page only when they open.
        if path.count > 1 { _ = await comes(selector, on: page) }
        let obstacle = await obstacle(to: selector, for: tap, on: page)
        note(Gesture(tap.name, missing: obstacle), on: phone)
        if obstacle != nil { return }
        if await page.evaluate(Self.clicking(selector)) == nil {
            note(.pageError("the page does not react to a tap"), on: phone)
        }
    }

    package func reply(_ replies: [JSONValue], on phone: String) {
        guard !replies.isEmpty else { return }
        edit { state, time in
            state.lastSign = time
            state.repliesUntil = max(state.repliesUntil, time + 100_000)
        }
        page(phone)?.apply(["replies": .array(replies)])
    }

    package func pass(_ time: Duration) async {
        let end = now + time.microseconds
        await wait(atMost: time.microseconds) { _, now in now >= end }
    }

    /// Does nothing between two taps, because the round trip to the browser takes enough time.
    package func passBetweenTaps() async {}

    // MARK: Pages

    package func open(_ pageCount: Int, on phone: String, isReload: Bool) async {
        // The context is created first, because all pages of a phone share one web storage.
        _ = try? await context(phone)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<pageCount { group.addTask { await self.openPage(phone, isReload) } }
        }
    }

    private func openPage(_ phone: String, _ isReload: Bool) async {
        do throws(DevTools.CallError) {
            let context = try await context(phone)
            let launch = edit { state, time in
                state.lastSign = time
                return state.world.launch(phone, isReload: isReload, at: time)
            }
            let page = try await BrowserPage(devTools, context: context, ref: launch.page)
            let events = page.events
            let task = clock.task { [weak self] in
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
                    load: launch.page.load ?? "",
                    channel: .binding(BrowserPage.binding)
                ),
                userAgent: launch.userAgent
            )
            let time = profile.app.startup + .seconds(10) * setting.stretch
            if let text = await page.open(setting.url, within: time) {
                // A page that was killed while it loaded has not failed to load.
                let isOpen = state.withLock { $0.pages[phone]?.contains { $0 === page } ?? false }
                if isOpen { failToOpen("\(setting.url): \(text)") }
            } else {
                await scriptsRun(page)
            }
        } catch {
            failToOpen("\(error)")
        }
    }

    /// Waits until the scripts of the page have run.
    ///
    /// If they take too long, the scenario ends.
    private func scriptsRun(_ page: BrowserPage) async {
        let patience = Patience(Self.loading, setting.heartbeat, clock)
        let (phone, load) = (page.phone, page.ref.load)
        while !patience.isOver, !Task.isCancelled {
            let isOver = state.withLock { state in
                let isOpen = state.pages[phone]?.contains { $0 === page } ?? false
                return !isOpen || state.trouble != nil || state.loaded.contains(page.session)
                    || state.world.exchanges[state.actStart...].contains {
                        $0.from == .app && $0.phone?.name == phone && $0.phone?.load == load
                    }
            }
            if isOver { return }
            await clock.pause(.milliseconds(15))
        }
        let time = Self.loading.milliseconds / 1000
        failToOpen("\(setting.url): its scripts have not run after \(time) s")
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

    package func closePages(of phone: String) async {
        let pages = state.withLock { $0.pages.removeValue(forKey: phone) ?? [] }
        for page in pages { page.close() }
    }

    package func forget(_ phone: String) async {
        await closePages(of: phone)
        let context = state.withLock { $0.contexts.removeValue(forKey: phone) }
        if let context { await dispose(context) }
    }

    // MARK: Given conditions

    package func apply(_ change: PhoneChange, product: String?) async -> [JSONValue] {
        edit { state, time in state.world.apply(change, product: product, at: time) }
    }

    package func take(_ plan: BridgePlan) async { edit { state, _ in state.world.take(plan) } }

    package func take(_ plan: AppBackendPlan) async {
        edit { state, _ in state.world.take(plan) }
    }

    package func carryOut(_ act: StoreAct) async {
        if let refusal = edit({ state, _ in state.world.carryOut(act) }) { fail(refusal) }
    }

    // MARK: Settling

    /// Waits for the effect of a user action on a phone.
    ///
    /// The effect of a launch, for example, is that the backend acknowledges the registration of
    /// the phone. The wait ends at the latest when no further effect can be expected.
    package func settle(after action: AppAction) async {
        let startup = profile.app.startup.microseconds
        let reaction = Patience(.microseconds(Self.reaction), setting.heartbeat, clock)
        let silence = Patience(.microseconds(2 * Self.quiet), setting.heartbeat, clock)
        @Sendable func sees(_ state: State, _ test: (ClientTimeline) -> Bool) -> Bool {
            test(state.world.timeline(from: state.actStart))
        }
        switch action.name {
        case .launch, .launchTwice, .reload:
            let isNative = edit { state, _ in state.world.isNative(action.phone) }
            await wait(atMost: isNative ? startup + 500_000 : 800_000) { state, _ in
                sees(state) { $0.registrations.contains { $0.isAcknowledged } }
            }
        case .login, .logout, .restore:
            await wait(atMost: startup + 500_000) { state, _ in
                sees(state) { timeline in
                    if timeline.registrations.contains(where: \.isAcknowledged) { return true }
                    return reaction.isOver && !timeline.hasOpenQuestion
                }
            }
        case .upgrade, .upgradeTwice, .purchase:
            await wait(atMost: Self.reaction) { state, _ in
                sees(state) { $0.commands.contains(where: \.isPaywall) }
            }
        case .status:
            await wait(atMost: startup) { state, _ in
                sees(state) { !$0.hasOpenQuestion && silence.isOver }
            }
        case .callback, .refresh: await wait(atMost: Self.reaction)
        // A kill is over at once, and a wait has taken its time already.
        case .kill, .wait: return
        // These actions have already failed, because they need Assay's app with accounts, not a
        // page.
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount: return
        }
    }

    package func settle(after act: PhoneChange.Act) async {
        switch act {
        case .complete, .cancel, .fail: await wait(atMost: Self.reaction)
        case .reinstall, .secondPhone, .cloned, .loseID: return
        }
    }
}
