internal import Contracts
internal import Providers
internal import Values

/// The scripted app's side of the bridge and of the calls to the app's backend.
///
/// It collects the commands and calls that the app sends, and keeps the replies that arrived: the
/// values of the page's global variables and the responses of the backend.
struct ScriptedBridge: Sendable {
    let policy: ScriptedApp.Policy.Bridge
    let keys: [VaultRole: String]
    /// The global variables of the page, each with the time of its last assignment in milliseconds.
    var globals: [String: (value: JSONValue, at: Int64)] = [:]
    /// The commands, calls and errors since the app last handled an input.
    var output: [ScriptedApp.Output] = []
    /// The responses of the backend that no flow has used so far, by the number of the call.
    var responses: [Int: (status: Int?, body: JSONValue)] = [:]
    private(set) var callCount = 0
    private var lastCommandTime = Int64.min

    init(
        policy: ScriptedApp.Policy.Bridge,
        keys: [VaultRole: String],
        globals: JSONObject
    ) {
        self.policy = policy
        self.keys = keys
        for member in globals.members { self.globals[member.key] = (member.value, 0) }
    }

    /// Whether the install ID is known.
    var hasInstallID: Bool { globals["uuid"]?.value.string?.isEmpty == false }

    var installID: String { globals["uuid"]?.value.string ?? "undefined" }

    func key(_ role: VaultRole) -> String { policy.key(role, keys) }

    // MARK: Commands

    mutating func sendCommand(_ command: String, at now: Int64) {
        let earliestTime = policy.sendsOneCommandInATask ? lastCommandTime &+ 1 : now
        lastCommandTime = max(now, earliestTime)
        output.append(.command(command, at: lastCommandTime))
    }

    /// Sends a bridge command, clears the global variable of its reply and starts to poll the
    /// variable, in this order.
    mutating func sendCommandAndWait(
        _ command: String,
        _ name: String,
        at now: Int64,
        for time: Int64
    ) -> ScriptedFlow.Wait {
        sendCommand(command, at: now)
        globals[name] = nil
        return .global(name, since: now, until: now + time)
    }

    mutating func readVault(_ role: VaultRole, at now: Int64) -> ScriptedFlow.Wait {
        sendCommandAndWait(
            "readvault://?key=" + key(role).percentEncoded,
            key(role),
            at: now,
            for: policy.vaultReadTimeoutMilliseconds
        )
    }

    mutating func write(_ role: VaultRole, _ value: String, at now: Int64) {
        let key = key(role).percentEncoded
        sendCommand("setvault://?key=\(key)&value=\(policy.encoded(value))&locked=false", at: now)
    }

    /// Sets the OneSignal alias to the user ID (C-10).
    mutating func sendAlias(_ id: String?, at now: Int64) {
        sendCommand("setonesignalplayerid://?user_id=\(policy.encoded(id ?? ""))", at: now)
    }

    // MARK: Calls

    mutating func call(
        _ route: String,
        _ values: [String: String],
        at now: Int64
    ) -> ScriptedFlow.Wait {
        callCount += 1
        output.append(.call(callCount, route: route, values: values))
        return .response(callCount, until: now + policy.callTimeoutMilliseconds)
    }

    // MARK: Waiting

    func isWaitOver(_ wait: ScriptedFlow.Wait?, at now: Int64) -> Bool {
        switch wait {
        case nil: true
        case .time(let wakeTime): now >= wakeTime
        case .response(let number, let until): responses[number] != nil || now >= until
        case .global(let name, let since, let until):
            now >= until || valueAvailableTime(name, since: since).map { now >= $0 } ?? false
        }
    }

    /// Returns the time at which a wait ends, unless its reply or response arrives earlier.
    func wakeTime(_ wait: ScriptedFlow.Wait?) -> Int64? {
        switch wait {
        case nil: nil
        case .time(let wakeTime): wakeTime
        case .response(_, let until): until
        case .global(let name, let since, let until):
            min(until, valueAvailableTime(name, since: since) ?? until)
        }
    }

    /// Returns the time at which the app notices that a global variable has a value.
    ///
    /// The app polls the variable every 100 ms, starting with the command (Despia fact sheet,
    /// section 1.4).
    private func valueAvailableTime(_ name: String, since: Int64) -> Int64? {
        guard let global = globals[name], Self.isValueReady(global.value) else { return nil }
        return since + (max(0, global.at - since) + 99) / 100 * 100
    }

    /// Returns whether the `despia-native` package accepts a value as the reply to a command
    /// (Despia fact sheet, section 1.4).
    private static func isValueReady(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): text != "n/a"
        case .array(let elements): !elements.isEmpty
        case .object(let object): !object.members.isEmpty
        case .null, .bool, .number: true
        }
    }
}
