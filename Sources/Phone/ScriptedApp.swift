package import Conformance
internal import Providers

/// A correct app on a Despia phone, as a value: inputs in, commands and calls out.
///
/// It follows flows A1 to A9 of the identity rules and keeps C-01 to C-35. A flow is a list of acts;
/// an act may wait for a reply, an answer or a moment. Bridge calls behave as those of the
/// `despia-native` package do (Despia fact sheet, section 1): unwatched ones wait for nothing,
/// watched ones are polled every 100 ms. What it decides is listed in `Policy`.
package struct ScriptedApp: Sendable {
    package enum Input: Hashable, Sendable {
        /// The native side assigned a global.
        case assigned(String, JSONValue)
        /// The native side called a function of the page.
        case called(String, [JSONValue])
        /// The backend answered a call; no status: no answer.
        case answered(Int, status: Int?, JSONValue)
        case upgrade, restore, logout, status
        case login(account: String, password: String, agrees: Bool)
        /// Time has passed.
        case tick
    }

    package enum Output: Hashable, Sendable {
        /// A text for the bridge, at that millisecond: the package sends one each millisecond.
        case command(String, at: Int64)
        /// A call to the backend: its number, its route, and what its templates stand for.
        case call(Int, route: String, values: [String: String])
        /// The page failed by itself.
        case error(String)
    }

    /// What the page keeps in its web storage: it survives the page and a kill, not a reinstall.
    package struct Storage: Hashable, Sendable {
        var currentID: String?
        var account: String?
        /// An id that everybody is being told of; set while that is not finished.
        var switchingTo: String?
        /// Ids that were given up, and must not come back.
        var retired: Set<String> = []
        /// Registrations that failed.
        var pending: [String] = []
        /// Whatever else a page writes down; this app needs none of it.
        var notes: Set<String> = []

        package init() {}
    }

    // MARK: State

    package var storage: Storage
    package internal(set) var wakeAt: Int64?
    let policy: Policy
    let keys: [PhoneChange.VaultRole: String]
    let userAgent: String
    var ids: IDSource
    var globals: [String: (value: JSONValue, at: Int64)] = [:]
    var flows: [Flow] = []
    var output: [Output] = []
    var lastCommandAt = Int64.min
    var callCount = 0
    var answers: [Int: (status: Int?, body: JSONValue)] = [:]

    var id: String?
    var registeredID: String?
    var isStarted = false
    var isBusy = false
    var isPaywallOpen = false
    var isLoading = true
    var hasAccess = false
    var error: String?
    var subscription: (status: String, product: String?)?

    /// How long a tap waits for the app to be ready.
    static let gateTime: Int64 = 8_000
    static let retryCountMax = 6

    // MARK: Life

    /// A page that opens.
    ///
    /// - Parameters:
    ///   - globals: What the runtime has put on the window.
    ///   - userAgent: What the page sees of the device.
    ///   - keys: The keys of the vault by role.
    ///   - storage: What an earlier page has kept.
    ///   - policy: What it decides.
    ///   - seed: What its random ids are drawn from.
    init(
        globals: JSONObject,
        userAgent: String,
        keys: [PhoneChange.VaultRole: String],
        storage: Storage,
        policy: Policy,
        seed: UInt64
    ) {
        self.storage = storage
        self.policy = policy
        self.keys = keys
        self.userAgent = userAgent
        ids = IDSource(seed: seed, text: "scripted-app")
        for member in globals.members { self.globals[member.key] = (member.value, 0) }
    }

    /// A browser has no bridge, and commands would open pages there (C-01).
    static func isNative(_ userAgent: String) -> Bool {
        userAgent.lowercased().contains("despia")
    }

    var isNative: Bool { policy.isNative(userAgent) }

    /// Starts the app.
    package mutating func start(at now: Int64) -> [Output] {
        guard isNative else {
            isLoading = false
            isStarted = true
            return []
        }
        guard policy.mayStart(&self, now) else { return [] }
        flows.append(Flow(policy.start, at: now))
        return pump(at: now)
    }

    /// What the page shows, by the names of `AppExpectation.Screen.Element`.
    package var screen: JSONValue {
        [
            "loading": .bool(isLoading), "access": .bool(hasAccess),
            "error": .bool(error != nil),
            "status": subscription.map { .string($0.status) } ?? .null,
            "product": subscription?.product.map(JSONValue.string) ?? .null,
        ]
    }

    package mutating func handle(_ input: Input, at now: Int64) -> [Output] {
        switch input {
        case .assigned(let name, let value): assign(name, value, at: now)
        case .called(let name, let arguments): called(name, arguments, at: now)
        case .answered(let number, let status, let body): answers[number] = (status, body)
        case .upgrade: upgrade(at: now)
        case .restore: begin(.restore, at: now)
        case .logout: begin(.logout, at: now)
        case .status: if isNative { flows.append(Flow([.readHistory, .show], at: now)) }
        case .login(let account, let password, let agrees):
            begin(.login(account, password, agrees), at: now)
        case .tick: break
        }
        return pump(at: now)
    }

    private enum Change {
        case restore, logout
        case login(String, String, Bool)
    }

    private mutating func begin(_ change: Change, at now: Int64) {
        guard isNative, isStarted, !isBusy else { return }
        var flow: Flow
        switch change {
        case .restore:
            flow = Flow(policy.restore, at: now)
            flow.source = "restore_button"
        case .logout:
            flow = Flow(policy.logout, at: now)
            flow.source = "logout"
        case .login(let account, let password, let agrees):
            flow = Flow(policy.login, at: now)
            flow.source = "login"
            flow.account = account
            flow.password = password
            flow.agrees = agrees
        }
        flows.append(flow)
    }

    private mutating func upgrade(at now: Int64) {
        guard isNative else {
            error = "Buy on the web"
            return
        }
        guard !policy.isOpening(self) else { return }
        flows.append(Flow([.gate, .paywall], at: now))
    }

    /// One paywall at a time, however often somebody taps (C-19).
    var isOpening: Bool { flows.contains { $0.acts.contains(.paywall) } || isPaywallOpen }

    // MARK: What the native side says

    private mutating func assign(_ name: String, _ value: JSONValue, at now: Int64) {
        globals[name] = (value, now)
        policy.unexpected(&self, name, value, now)
    }

    func waits(for name: String) -> Bool {
        flows.contains { if case .global(name, _, _) = $0.wait { true } else { false } }
    }

    /// Functions by which the native side tells how a purchase ended (section 6.1).
    static let callbacks: Set<String> = [
        "onRevenueCatPurchase", "onRevenueCatResult", "iapSuccess",
    ]

    /// Whether the window has a function of that name.
    func has(_ function: String) -> Bool { policy.callbacks(self).contains(function) }

    private mutating func called(_ name: String, _ arguments: [JSONValue], at now: Int64) {
        guard has(name) else { return }
        policy.purchased(&self, arguments, now)
    }

    /// Callbacks may carry nothing, an object, or an object as text (C-24).
    mutating func purchased(_ arguments: [JSONValue], at now: Int64) {
        isPaywallOpen = false
        var result = arguments.first
        if case .string(let text)? = result { result = try? JSONValue(parsing: text) }
        if result?["cancelled"] == true || result?["ok"] == false { return }
        policy.learnAccess(&self, now)
    }
}
