internal import Contracts
internal import Providers
package import Values

/// A correct app on a Despia phone, as a value: it takes inputs, such as taps and replies, and
/// returns bridge commands and backend calls.
///
/// The app implements flows A1 to A9 of the identity rules and fulfills clauses C-01 to C-35. A
/// flow is a list of actions; an action may wait for a reply, a response or a time. Bridge commands
/// behave as in the `despia-native` package (Despia fact sheet, section 1): the package polls every
/// 100 ms for the reply to a watched command, and does not wait for other commands. `Policy`
/// contains the app's decisions.
package struct ScriptedApp: Sendable {
    package enum Input: Hashable, Sendable {
        /// The native side assigned a value to a global variable of the page.
        case globalAssigned(String, JSONValue)
        /// The native side called a function of the page with arguments.
        case called(String, [JSONValue])
        /// The backend responded to the call with this number.
        ///
        /// A nil status means that no response arrived.
        case answered(Int, status: Int?, JSONValue)
        case upgrade, restore, logout, status
        case login(account: String, password: String, agreesToReplacement: Bool)
        /// Time has passed without another input.
        case tick
    }

    package enum Output: Hashable, Sendable {
        /// A command to send to the bridge at a time in milliseconds.
        ///
        /// The `despia-native` package sends at most one command per millisecond.
        case command(String, at: Int64)
        /// A call to send to the app's backend: the number of the call, the route, and the values
        /// for the route's templates.
        case call(Int, route: String, values: [String: String])
        /// An uncaught error in the page's own code.
        case error(String)
    }

    /// The web storage of the app.
    ///
    /// It survives a reload and a kill of the page, but not a reinstallation.
    package struct Storage: Hashable, Sendable {
        var currentID: String?
        var account: String?
        /// The new user ID while a login, logout or restore is in progress; nil at other times.
        var pendingUserID: String?
        /// User IDs that a logout gave up and that must not be used again.
        var retiredIDs: Set<String> = []
        /// The user IDs whose registration failed and must be retried.
        var pendingRegistrationIDs: [String] = []
        /// Flags that only deviating apps use.
        var behaviorFlags: Set<String> = []

        package init() {}

        mutating func addPendingRegistration(_ id: String) {
            if !pendingRegistrationIDs.contains(id) { pendingRegistrationIDs.append(id) }
        }
    }

    // MARK: State

    package var storage: Storage
    package internal(set) var nextWakeTime: Int64?
    let policy: Policy
    let userAgent: String
    var bridge: ScriptedBridge
    var idSource: IDSource
    var flows: [ScriptedFlow] = []

    /// The content of the open page.
    package internal(set) var page = ScriptedPage()
    var id: String?
    var registeredID: String?
    var hasFinishedStart = false
    var isBusy = false
    var isPaywallOpen = false

    // MARK: Lifecycle

    /// Opens a page of the app with the given decisions.
    ///
    /// - Parameters:
    ///   - globals: The global variables that the Despia runtime provides on the window.
    ///   - userAgent: The user agent string of the page.
    ///   - keys: The names of the vault entries, by their role.
    ///   - storage: The web storage that an earlier page left on the phone.
    ///   - policy: The decisions of the app.
    ///   - seed: The seed of the random IDs that the app creates.
    init(
        globals: JSONObject,
        userAgent: String,
        keys: [VaultRole: String],
        storage: Storage,
        policy: Policy,
        seed: UInt64
    ) {
        self.storage = storage
        self.policy = policy
        self.userAgent = userAgent
        bridge = ScriptedBridge(policy: policy.bridge, keys: keys, globals: globals)
        idSource = IDSource(seed: seed, text: "scripted-app")
    }

    var isNativeApp: Bool { bridge.policy.isNativeApp(userAgent) }

    /// Starts the app on the opened page.
    package mutating func start(at now: Int64) -> [Output] {
        guard isNativeApp else {
            page.isLoading = false
            hasFinishedStart = true
            return []
        }
        guard policy.launch.mayStartPage(&self, now) else { return [] }
        flows.append(ScriptedFlow(policy.actions.start, at: now))
        return runFlows(at: now)
    }

    package mutating func handleInput(_ input: Input, at now: Int64) -> [Output] {
        switch input {
        case .globalAssigned(let name, let value): assign(name, value, at: now)
        case .called(let name, let arguments): called(name, arguments, at: now)
        case .answered(let number, let status, let body): bridge.responses[number] = (status, body)
        case .upgrade: upgrade(at: now)
        case .restore: beginUserIDChange(.restore, at: now)
        case .logout: beginUserIDChange(.logout, at: now)
        case .status:
            if isNativeApp {
                flows.append(ScriptedFlow([.readPurchaseHistory, .showStatus], at: now))
            }
        case .login(let account, let password, let agreesToReplacement):
            beginUserIDChange(.login(account, password, agreesToReplacement), at: now)
        case .tick: break
        }
        return runFlows(at: now)
    }

    private enum UserIDChange {
        case restore, logout
        case login(String, String, Bool)
    }

    private mutating func beginUserIDChange(_ change: UserIDChange, at now: Int64) {
        guard isNativeApp, hasFinishedStart, !isBusy else { return }
        var flow: ScriptedFlow
        switch change {
        case .restore:
            flow = ScriptedFlow(policy.actions.restore, at: now)
            flow.source = "restore_button"
        case .logout:
            flow = ScriptedFlow(policy.actions.logout, at: now)
            flow.source = "logout"
        case .login(let account, let password, let agreesToReplacement):
            flow = ScriptedFlow(policy.actions.login, at: now)
            flow.source = "login"
            flow.account = account
            flow.password = password
            flow.agreesToReplacement = agreesToReplacement
        }
        flows.append(flow)
    }

    private mutating func upgrade(at now: Int64) {
        guard isNativeApp else {
            page.error = "Buy on the web"
            return
        }
        guard !policy.selling.isPaywallOpening(self) else { return }
        flows.append(ScriptedFlow([.waitForPaywall, .openPaywall], at: now))
    }

    /// Whether a paywall is opening or open.
    ///
    /// Only one is allowed at a time, however often the user taps (C-19).
    var isPaywallOpening: Bool {
        flows.contains(.openPaywall) || isPaywallOpen
    }

    // MARK: Input of the native side

    private mutating func assign(_ name: String, _ value: JSONValue, at now: Int64) {
        bridge.globals[name] = (value, now)
        bridge.policy.handleUnexpectedValue(&self, name, value, now)
    }

    /// Returns whether the page defines a function with this name on its window.
    func hasCallback(_ function: String) -> Bool {
        policy.selling.purchaseCallbacks(self).contains(function)
    }

    private mutating func called(_ name: String, _ arguments: [JSONValue], at now: Int64) {
        guard hasCallback(name) else { return }
        policy.selling.handlePurchaseCallback(&self, arguments, now)
    }

    /// Handles a purchase callback.
    ///
    /// Its argument may be missing, an object, or an object as a JSON string (C-24).
    mutating func handlePurchaseCallback(_ arguments: [JSONValue], at now: Int64) {
        isPaywallOpen = false
        var result = arguments.first
        if case .string(let text)? = result { result = JSONValue(ifValid: text) }
        if result?["cancelled"] == true || result?["ok"] == false { return }
        policy.selling.requestAccess(&self, now)
    }
}
