internal import Browser
package import Contracts
package import Judging
package import Phone
package import Providers
package import Values

/// Executes the phone steps of a contract on real pages; each simulated phone is a browser context.
extension BrowserScenario: PhoneExecutor {
    package var namespace: Namespace { state.withLock { $0.simulatedPhones.namespace } }

    package var timeline: ClientTimeline { state.withLock { $0.simulatedPhones.timeline() } }

    package func assign(_ id: String, to user: String) {
        edit { state, _ in state.simulatedPhones.assign(id, to: user) }
    }

    package func fail(_ text: String) {
        state.withLock { $0.runProblem = $0.runProblem ?? .faultNotApplied(text) }
    }

    /// Records that the page cannot be opened, which ends the scenario.
    private func recordOpenFailure(_ text: String) {
        state.withLock { $0.runProblem = $0.runProblem ?? .pageUnusable(text) }
    }

    package func recordUserAction(_ userAction: UserAction, on phone: String) {
        edit { state, time in state.simulatedPhones.write(userAction, on: phone, at: time) }
    }

    // MARK: User actions

    package func begin(_ action: AppAction) {
        edit { state, time in
            state.killPointTracker.begin(action)
            state.confirmsPrompts = action.confirmsPrompts
            state.lastActivityTime = time
            state.actionStartIndex = state.simulatedPhones.exchanges.count
        }
    }

    package func end(_ action: AppAction) async {
        if action.confirmsPrompts, let selector = profile.app.agreementSelector {
            _ = await page(action.phone)?.evaluate(BrowserScreen.clickExpression(selector))
            await settle(after: action)
        }
        state.withLock { $0.killPointTracker.end(action.phone) }
    }

    package func app(for action: AppAction) -> AppAction.App {
        state.withLock { $0.simulatedPhones.app(for: action) }
    }

    package func performAccountAction(_ action: AppAction) async {
        if let text = await state.withLock({ $0.simulatedPhones }).performAccountAction(action) {
            fail(text)
        }
    }

    /// Taps the page element whose CSS selector the profile contains for this kind of tap.
    ///
    /// If the page does not have the element, the journal records that.
    package func tap(_ tap: Tap, on phone: String) async {
        if case .login(let account, let password, _) = tap {
            if let page = page(phone) {
                await screen(of: page).fill(["account": account, "password": password])
            }
        }
        guard let path = profile.app.tapSelectors[tap.name], let selector = path.last else {
            return recordUserAction(
                UserAction(tap.name, missingElement: "app: taps: \(tap.name)"),
                on: phone
            )
        }
        guard let page = page(phone) else {
            return recordUserAction(UserAction(tap.name, missingElement: selector), on: phone)
        }
        let screen = screen(of: page)
        // A tap on a menu that is already open would close it.
        let isOpen = await screen.elementStates([selector])?.first == .there
        for menuSelector in path.dropLast() where !isOpen {
            guard await screen.waitForElement(menuSelector) else {
                return recordUserAction(
                    UserAction(tap.name, missingElement: menuSelector),
                    on: phone
                )
            }
            _ = await page.evaluate(BrowserScreen.clickExpression(menuSelector))
            // The second step of a login may have separate input fields.
            if case .login(let account, let password, _) = tap {
                _ = await screen.waitForElement(selector)
                await screen.fill(["account": account, "password": password])
            }
        }
        // Some menus add their entries to the page only when they open.
        if path.count > 1 { _ = await screen.waitForElement(selector) }
        let skipReason = await screen.skipReason(to: selector, for: tap)
        recordUserAction(UserAction(tap.name, missingElement: skipReason), on: phone)
        if skipReason != nil { return }
        if await page.evaluate(BrowserScreen.clickExpression(selector)) == nil {
            recordUserAction(.pageError("the page does not react to a tap"), on: phone)
        }
    }

    package func reply(_ replies: [JSONValue], on phone: String) {
        guard !replies.isEmpty else { return }
        edit { state, time in
            state.lastActivityTime = time
            state.lastReplyTime = max(state.lastReplyTime, time + 100_000)
        }
        page(phone)?.apply(["replies": .array(replies)])
    }

    package func advanceTime(_ time: Duration) async {
        let end = now + time.microseconds
        await wait(atMost: time.microseconds) { _, now in now >= end }
    }

    /// Does nothing between two taps, because the round trip to the browser takes enough time.
    package func waitBetweenTaps() async {}

    // MARK: Pages

    package func open(_ pageCount: Int, on phone: String, isReload: Bool) async {
        // The context is created first, because all pages of a phone share one web storage.
        // If it cannot be created, the opening of the pages below fails and is reported.
        _ = try? await contextID(phone)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<pageCount { group.addTask { await self.openPage(phone, isReload) } }
        }
    }

    private func openPage(_ phone: String, _ isReload: Bool) async {
        do throws(DevTools.CallError) {
            let contextID = try await contextID(phone)
            let launch = edit { state, time in
                state.lastActivityTime = time
                return state.simulatedPhones.launch(phone, isReload: isReload, at: time)
            }
            let page = try await BrowserPage(devTools, contextID: contextID, phoneRef: launch.page)
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
            let time = profile.app.startupTimeout + .seconds(10) * configuration.waitFactor
            if let text = await page.open(configuration.url, within: time) {
                // A page that was killed while it loaded has not failed to load.
                let isOpen = state.withLock { $0.pages[phone]?.contains { $0 === page } ?? false }
                if isOpen { recordOpenFailure("\(configuration.url): \(text)") }
            } else {
                await waitForScripts(page)
            }
        } catch {
            recordOpenFailure("\(error)")
        }
    }

    /// Waits until the scripts of the page have run.
    ///
    /// If they take too long, the scenario ends.
    private func waitForScripts(_ page: BrowserPage) async {
        let settleTimeout = SettleTimeout(Self.loadTimeMax, configuration.heartbeat, clock)
        let (phone, load) = (page.phone, page.phoneRef.load)
        while !settleTimeout.isOver, !Task.isCancelled {
            let isOver = state.withLock { state in
                let isOpen = state.pages[phone]?.contains { $0 === page } ?? false
                return !isOpen || state.runProblem != nil
                    || state.loadedSessions.contains(page.session)
                    || state.simulatedPhones.exchanges[state.actionStartIndex...].contains {
                        $0.from == .app && $0.phone?.name == phone && $0.phone?.load == load
                    }
            }
            if isOver { return }
            await clock.pause(.milliseconds(15))
        }
        let time = Self.loadTimeMax.milliseconds / 1000
        recordOpenFailure("\(configuration.url): its scripts have not run after \(time) s")
    }

    private func contextID(_ phone: String) async throws(DevTools.CallError) -> String {
        if let existingContext = state.withLock({ $0.contextIDs[phone] }) { return existingContext }
        let creationResult = try await devTools.send(
            "Target.createBrowserContext",
            ["disposeOnDetach": true]
        )
        let contextID = creationResult["browserContextId"]?.string ?? ""
        state.withLock { $0.contextIDs[phone] = contextID }
        return contextID
    }

    package func closePages(of phone: String) async {
        let pages = state.withLock { $0.pages.removeValue(forKey: phone) ?? [] }
        for page in pages { page.close() }
    }

    package func removeApp(_ phone: String) async {
        await closePages(of: phone)
        let contextID = state.withLock { $0.contextIDs.removeValue(forKey: phone) }
        if let contextID { await closeContext(contextID) }
    }

    // MARK: Given conditions

    package func apply(_ change: PhoneChange, product: String?) async -> [JSONValue] {
        edit { state, time in state.simulatedPhones.apply(change, product: product, at: time) }
    }

    package func take(_ plan: BridgePlan) async {
        edit { state, _ in state.simulatedPhones.take(plan) }
    }

    package func take(_ plan: AppBackendPlan) async {
        edit { state, _ in state.simulatedPhones.take(plan) }
    }

    package func carryOut(_ action: FakeStoreAction) async {
        if let refusal = edit({ state, _ in state.simulatedPhones.carryOut(action) }) {
            fail(refusal)
        }
    }

    // MARK: Settling

    /// Waits for the effect of a user action on a phone.
    ///
    /// The effect of a launch, for example, is that the backend acknowledges the registration of
    /// the phone. The wait ends at the latest when no further effect can be expected.
    package func settle(after action: AppAction) async {
        let startupTimeout = profile.app.startupTimeout.microseconds
        let reactionLimit = SettleTimeout(
            .microseconds(Self.reactionLimit),
            configuration.heartbeat,
            clock
        )
        let quietTimeout = SettleTimeout(
            .microseconds(2 * Self.quietTimeInMicroseconds),
            configuration.heartbeat,
            clock
        )
        @Sendable func isMet(_ state: State, _ condition: (ClientTimeline) -> Bool) -> Bool {
            condition(state.simulatedPhones.timeline(from: state.actionStartIndex))
        }
        switch action.name {
        case .launch, .launchTwice, .reload:
            let isNativeApp = edit { state, _ in state.simulatedPhones.isNativeApp(action.phone) }
            await wait(atMost: isNativeApp ? startupTimeout + 500_000 : 800_000) { state, _ in
                isMet(state) { $0.registrations.contains { $0.isAcknowledged } }
            }
        case .login, .logout, .restore:
            await wait(atMost: startupTimeout + 500_000) { state, _ in
                isMet(state) { timeline in
                    if timeline.registrations.contains(where: \.isAcknowledged) { return true }
                    return reactionLimit.isOver && !timeline.hasUnansweredRead
                }
            }
        case .upgrade, .upgradeTwice, .purchase:
            await wait(atMost: Self.reactionLimit) { state, _ in
                isMet(state) { $0.commands.contains(where: \.isPaywall) }
            }
        case .status:
            await wait(atMost: startupTimeout) { state, _ in
                isMet(state) { !$0.hasUnansweredRead && quietTimeout.isOver }
            }
        case .callback, .refresh: await wait(atMost: Self.reactionLimit)
        // A kill is over at once, and a wait has taken its time already.
        case .kill, .wait: return
        // These actions have already failed, because they need Assay's app with accounts, not a
        // page.
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount: return
        }
    }

    package func settle(after action: PhoneChange.OwnerAction) async {
        switch action {
        case .complete, .cancel, .fail: await wait(atMost: Self.reactionLimit)
        case .reinstall, .secondPhone, .cloned, .loseID: return
        }
    }
}
