package import Contracts
package import Judging
package import Providers
package import Values

/// A component that carries out the phone steps of a contract, either with the scripted app or with
/// a page in a real browser.
///
/// `PhoneExecution` splits each step into the calls of this protocol. `PhoneExecution` also decides which
/// user actions are recorded in the journal, so that the journal has the same meaning for every
/// implementation.
package protocol PhoneExecutor {
    var namespace: Namespace { get }
    /// The commands, calls and page contents of all phones so far, as read from the journal.
    var timeline: ClientTimeline { get }

    /// Assigns an ID to a user name in the contract.
    mutating func assign(_ id: String, to user: String)
    /// Records the reason why the run is inconclusive.
    mutating func fail(_ text: String)
    mutating func recordUserAction(_ userAction: UserAction, on phone: String)

    /// Marks the start of a user action.
    ///
    /// The kill point and the user's agreement in `action` apply at least until `end`. With the
    /// agreement, the user confirms when the app asks whether to continue.
    mutating func begin(_ action: AppAction)
    mutating func end(_ action: AppAction) async

    /// Returns the kind of app in which the action happens: the Despia app, or the app with
    /// accounts.
    func app(for action: AppAction) -> AppAction.App
    /// Carries out a user action in the scripted app with accounts.
    mutating func performAccountAction(_ action: AppAction) async

    /// Opens the app in the given number of pages, which share one web storage.
    mutating func open(_ pageCount: Int, on phone: String, isReload: Bool) async
    /// Closes the app as the operating system does: no handler of a page runs, and the web storage
    /// remains.
    mutating func closePages(of phone: String) async
    /// Removes the app and all of its stored data from a phone.
    mutating func removeApp(_ phone: String) async
    mutating func tap(_ tap: Tap, on phone: String) async
    /// Delivers replies of the native side to the page.
    ///
    /// A reply sets a global variable or calls a function of the page.
    mutating func reply(_ replies: [JSONValue], on phone: String) async
    mutating func advanceTime(_ time: Duration) async
    /// Waits for the short time between two quick taps of a user.
    mutating func waitBetweenTaps() async

    mutating func apply(_ change: PhoneChange, product: String?) async -> [JSONValue]
    mutating func take(_ plan: BridgePlan) async
    mutating func take(_ plan: AppBackendPlan) async
    mutating func carryOut(_ act: FakeStoreAction) async

    /// Waits until the app has reacted to a user action.
    mutating func settle(after action: AppAction) async
    mutating func settle(after act: PhoneChange.OwnerAction) async
}

/// An element of the app's page that a user taps.
///
/// The profile maps the name of the tap to a CSS selector.
package enum Tap: Hashable, Sendable {
    case upgrade, restore, logout, status
    case login(account: String, password: String, confirmsPrompts: Bool)

    package var name: String {
        switch self {
        case .upgrade: "upgrade"
        case .restore: "restore"
        case .logout: "logout"
        case .status: "status"
        case .login: "login"
        }
    }
}

/// Runs the phone steps of a contract with a `PhoneExecutor`.
///
/// No other code interprets a `PhoneStep`.
package enum PhoneExecution {
    package static func carryOut(
        _ step: PhoneStep,
        by executor: inout some PhoneExecutor
    ) async {
        switch step {
        case .app(let action): await carryOut(action, by: &executor)
        case .phone(let change): await carryOut(change, by: &executor)
        case .bridge(let plan): await executor.take(plan)
        case .backend(let plan): await executor.take(plan)
        case .store(let act): await executor.carryOut(act)
        }
    }

    // MARK: Actions

    private static func carryOut(
        _ action: AppAction,
        by executor: inout some PhoneExecutor
    ) async {
        switch executor.app(for: action) {
        case .accounts: await executor.performAccountAction(action)
        case .despia:
            executor.begin(action)
            await userAction(action, by: &executor)
            if !action.isNextStepImmediate { await executor.settle(after: action) }
            await executor.end(action)
            name(action, by: &executor)
        }
    }

    private static func userAction(
        _ action: AppAction,
        by executor: inout some PhoneExecutor
    ) async {
        let phone = action.phone
        switch action.name {
        case .launch:
            await executor.closePages(of: phone)
            await executor.open(1, on: phone, isReload: false)
        case .launchTwice:
            await executor.closePages(of: phone)
            await executor.open(2, on: phone, isReload: false)
        case .reload:
            await executor.closePages(of: phone)
            await executor.open(1, on: phone, isReload: true)
        case .kill:
            executor.recordUserAction(UserAction("kill"), on: phone)
            await executor.closePages(of: phone)
        case .upgrade: await executor.tap(.upgrade, on: phone)
        case .upgradeTwice:
            await executor.tap(.upgrade, on: phone)
            await executor.waitBetweenTaps()
            await executor.tap(.upgrade, on: phone)
        case .purchase:
            await executor.tap(.upgrade, on: phone)
            await executor.settle(after: action)
            var change = PhoneChange()
            change.phone = phone
            change.ownerAction = .complete
            await carryOut(change, product: action.product, by: &executor)
        case .restore: await executor.tap(.restore, on: phone)
        case .logout: await executor.tap(.logout, on: phone)
        case .status: await executor.tap(.status, on: phone)
        case .login: await executor.tap(login(action, executor.namespace), on: phone)
        case .callback:
            // The runtime never calls `onRevenueCatResult` without an argument.
            let callbackNames =
                ["onRevenueCatPurchase", "iapSuccess"]
                + (action.callbackArgument == nil ? [] : ["onRevenueCatResult"])
            await call(callbackNames, action, by: &executor)
        // An app on Despia asks its backend for the current access whenever it is notified of a
        // purchase.
        case .refresh: await call(["onRevenueCatPurchase"], action, by: &executor)
        case .wait:
            executor.recordUserAction(UserAction("wait"), on: phone)
            await executor.advanceTime(action.time ?? .zero)
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount:
            executor.fail("'app: \(action.name.rawValue)' needs an app with accounts on \(phone)")
        }
    }

    private static func login(_ action: AppAction, _ namespace: Namespace) -> Tap {
        let account = action.account ?? ""
        return .login(
            account: namespace.emailAddress(of: account),
            password: (action.hasWrongPassword ? "wrong-" : "") + namespace.password(of: account),
            confirmsPrompts: action.confirmsPrompts
        )
    }

    /// Calls functions of the page as the Despia runtime does, independent of the store.
    private static func call(
        _ callbackNames: [String],
        _ action: AppAction,
        by executor: inout some PhoneExecutor
    ) async {
        executor.recordUserAction(UserAction(action.name.rawValue), on: action.phone)
        let arguments = JSONValue.array(action.callbackArgument.map { [$0] } ?? [])
        let calls = callbackNames.map { name -> JSONValue in
            ["kind": "callback", "name": .string(name), "arguments": arguments, "delay": 1]
        }
        await executor.reply(calls, on: action.phone)
    }

    /// Assigns the user ID that the app has after an action to the user name in the contract.
    private static func name(_ action: AppAction, by executor: inout some PhoneExecutor) {
        guard let user = action.anonymousUser else { return }
        if let id = executor.timeline.finalID(of: action.phone) {
            executor.assign(id, to: user)
        } else {
            executor.fail("the app on \(action.phone) sent no ID to assign to '\(user)'")
        }
    }

    // MARK: Phones

    private static func carryOut(
        _ change: PhoneChange,
        product: String? = nil,
        by executor: inout some PhoneExecutor
    ) async {
        if let act = change.ownerAction, act.closesSheet {
            executor.recordUserAction(UserAction(act.rawValue), on: change.phone)
        }
        let replies = await executor.apply(change, product: product)
        if change.ownerAction == .reinstall { await executor.removeApp(change.phone) }
        await executor.reply(replies, on: change.phone)
        if let act = change.ownerAction { await executor.settle(after: act) }
    }
}

extension PhoneChange.OwnerAction {
    /// Whether this change of the phone closes the open payment sheet.
    package var closesSheet: Bool {
        switch self {
        case .complete, .cancel, .fail: true
        case .reinstall, .secondPhone, .cloned, .loseID: false
        }
    }
}

/// Watches for the point within a user action at which the contract kills the page.
package struct KillPointTracker: Hashable, Sendable {
    package private(set) var killPoint: AppAction.KillPoint?
    /// The names of the phones whose page is killed before it sends anything else.
    private var phonesBeingKilled: Set<String> = []

    package init() {}

    /// Sets the kill point of a new user action; nil if the action has none.
    package mutating func begin(_ action: AppAction) { killPoint = action.killPoint }

    package mutating func end(_ phone: String) {
        killPoint = nil
        phonesBeingKilled.remove(phone)
    }

    package func isBeingKilled(_ phone: String) -> Bool { phonesBeingKilled.contains(phone) }

    /// Records that the app's backend responded to a call of a route.
    ///
    /// - Returns: Whether the page is killed before it receives the response.
    package mutating func answered(_ route: String, on phone: String) -> Bool {
        switch killPoint {
        case .loggedIn:
            if route == "login" { phonesBeingKilled.insert(phone) }
            return false
        case .registered: return route == "register"
        case .idWritten, nil: return false
        }
    }

    /// Records that the bridge received a command from the page.
    ///
    /// - Returns: Whether the page is killed before it receives the reply to the command.
    package func killsAfter(_ command: BridgeCommand, idKey: String) -> Bool {
        killPoint == .idWritten && command.scheme == "setvault" && command["key"] == idKey
    }
}
