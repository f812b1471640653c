package import Conformance

/// Whoever plays the phones of a case: the scripted app, or a page in a browser.
///
/// `PhonePlay` says what an act consists of; a performer says how each part is done. Journal entries
/// for gestures are the play's, so that they mean the same wherever it is performed.
package protocol PhonePerformer {
    var namespace: Namespace { get }
    /// What the journal holds so far.
    var timeline: ClientTimeline { get }

    /// From now on the contract's name stands for this id.
    mutating func assign(_ id: String, to user: String)
    /// The run can say nothing; the text tells why.
    mutating func fail(_ text: String)
    mutating func note(_ gesture: Gesture, on phone: String)

    /// An act begins, or is over: from when to when a kill or an agreement counts.
    mutating func begin(_ action: AppAction)
    mutating func end(_ action: AppAction) async

    /// Which kind of app the act is for.
    func app(for action: AppAction) -> AppAction.App
    /// An act in the app with accounts.
    mutating func use(_ action: AppAction) async

    /// Opens the app in so many pages, which share one storage.
    mutating func open(_ pageCount: Int, on phone: String, isReload: Bool) async
    /// The system ends the app: no handler of a page runs, and its storage stays.
    mutating func closePages(of phone: String) async
    /// The app and all that it stored are gone.
    mutating func forget(_ phone: String) async
    mutating func tap(_ tap: Tap, on phone: String) async
    /// The native side writes globals and calls functions of the page.
    mutating func reply(_ replies: [JSONValue], on phone: String) async
    mutating func pass(_ time: Duration) async
    /// Lets the little pass that lies between two quick taps.
    mutating func passBetweenTaps() async

    mutating func apply(_ change: PhoneChange, product: String?) async -> [JSONValue]
    mutating func take(_ plan: BridgePlan) async
    mutating func take(_ plan: AppBackendPlan) async
    mutating func carryOut(_ act: StoreAct) async

    /// Waits for what an act leads to.
    mutating func settle(after action: AppAction) async
    mutating func settle(after act: PhoneChange.Act) async
}

/// Something that a person taps, by the profile's name for it.
package enum Tap: Hashable, Sendable {
    case upgrade, restore, logout, status
    case login(account: String, password: String, agrees: Bool)

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

/// What happens on phones, step by step: the one reading of a `PhoneStep`.
package enum PhonePlay {
    package static func carryOut(
        _ step: PhoneStep,
        by performer: inout some PhonePerformer
    ) async {
        switch step {
        case .app(let action): await carryOut(action, by: &performer)
        case .phone(let change): await carryOut(change, by: &performer)
        case .bridge(let plan): await performer.take(plan)
        case .backend(let plan): await performer.take(plan)
        case .store(let act): await performer.carryOut(act)
        }
    }

    // MARK: Acts

    private static func carryOut(
        _ action: AppAction,
        by performer: inout some PhonePerformer
    ) async {
        switch performer.app(for: action) {
        case .accounts: await performer.use(action)
        case .despia:
            performer.begin(action)
            await gesture(action, by: &performer)
            if !action.isAtOnce { await performer.settle(after: action) }
            await performer.end(action)
            name(action, by: &performer)
        }
    }

    private static func gesture(
        _ action: AppAction,
        by performer: inout some PhonePerformer
    ) async {
        let phone = action.phone
        switch action.name {
        case .launch:
            await performer.closePages(of: phone)
            await performer.open(1, on: phone, isReload: false)
        case .launchTwice:
            await performer.closePages(of: phone)
            await performer.open(2, on: phone, isReload: false)
        case .reload:
            await performer.closePages(of: phone)
            await performer.open(1, on: phone, isReload: true)
        case .kill:
            performer.note(Gesture("kill"), on: phone)
            await performer.closePages(of: phone)
        case .upgrade: await performer.tap(.upgrade, on: phone)
        case .upgradeTwice:
            await performer.tap(.upgrade, on: phone)
            await performer.passBetweenTaps()
            await performer.tap(.upgrade, on: phone)
        case .purchase:
            await performer.tap(.upgrade, on: phone)
            await performer.settle(after: action)
            var change = PhoneChange()
            change.phone = phone
            change.act = .complete
            await carryOut(change, product: action.product, by: &performer)
        case .restore: await performer.tap(.restore, on: phone)
        case .logout: await performer.tap(.logout, on: phone)
        case .status: await performer.tap(.status, on: phone)
        case .login: await performer.tap(login(action, performer.namespace), on: phone)
        case .callback:
            // The result channel always carries its envelope.
            let names =
                ["onRevenueCatPurchase", "iapSuccess"]
                + (action.argument == nil ? [] : ["onRevenueCatResult"])
            await call(names, action, by: &performer)
        // On Despia an app learns anew what it may show when a purchase is told of.
        case .refresh: await call(["onRevenueCatPurchase"], action, by: &performer)
        case .wait:
            performer.note(Gesture("wait"), on: phone)
            await performer.pass(action.time ?? .zero)
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount:
            performer.fail("'app: \(action.name.rawValue)' needs an app with accounts on \(phone)")
        }
    }

    private static func login(_ action: AppAction, _ namespace: Namespace) -> Tap {
        let account = action.account ?? ""
        return .login(
            account: namespace.accountID(of: account),
            password: (action.hasWrongPassword ? "wrong-" : "") + namespace.password(of: account),
            agrees: action.agrees
        )
    }

    /// The runtime calls functions of the page, whatever the store did.
    private static func call(
        _ names: [String],
        _ action: AppAction,
        by performer: inout some PhonePerformer
    ) async {
        performer.note(Gesture(action.name.rawValue), on: action.phone)
        let arguments = JSONValue.array(action.argument.map { [$0] } ?? [])
        let calls = names.map { name -> JSONValue in
            ["kind": "callback", "name": .string(name), "arguments": arguments, "delay": 1]
        }
        await performer.reply(calls, on: action.phone)
    }

    /// The contract's name for whoever uses the app after this act.
    private static func name(_ action: AppAction, by performer: inout some PhonePerformer) {
        guard let user = action.anonymous else { return }
        if let id = performer.timeline.finalID(of: action.phone) {
            performer.assign(id, to: user)
        } else {
            performer.fail("the app on \(action.phone) told nobody an id that could be \(user)'s")
        }
    }

    // MARK: Phones

    private static func carryOut(
        _ change: PhoneChange,
        product: String? = nil,
        by performer: inout some PhonePerformer
    ) async {
        if let act = change.act, act.closesSheet {
            performer.note(Gesture(act.rawValue), on: change.phone)
        }
        let replies = await performer.apply(change, product: product)
        if change.act == .reinstall { await performer.forget(change.phone) }
        await performer.reply(replies, on: change.phone)
        if let act = change.act { await performer.settle(after: act) }
    }
}

extension PhoneChange.Act {
    /// Whether the sheet that is open ends by it.
    package var closesSheet: Bool {
        switch self {
        case .complete, .cancel, .fail: true
        case .reinstall, .secondPhone, .cloned, .loseID: false
        }
    }
}

/// Where a page is to die in the middle of an act.
package struct KillWatch: Hashable, Sendable {
    package private(set) var point: AppAction.KillPoint?
    /// Phones whose page dies instead of saying anything more.
    private var dying: Set<String> = []

    package init() {}

    /// A page that was to die in an act before may still come to it.
    package mutating func begin(_ action: AppAction) { point = action.killedAt }

    package mutating func end(_ phone: String) {
        point = nil
        dying.remove(phone)
    }

    package func isDying(_ phone: String) -> Bool { dying.contains(phone) }

    /// The backend has answered a route.
    ///
    /// - Returns: Whether the page dies before it hears of it.
    package mutating func answered(_ route: String, on phone: String) -> Bool {
        switch point {
        case .loggedIn:
            if route == "login" { dying.insert(phone) }
            return false
        case .registered: return route == "register"
        case .idWritten, nil: return false
        }
    }

    /// The bridge took a command.
    ///
    /// - Returns: Whether the page dies before it hears of it.
    package func took(_ command: BridgeCommand, idKey: String) -> Bool {
        point == .idWritten && command.scheme == "setvault" && command["key"] == idKey
    }
}
