package import Conformance

/// Everything that an app on a phone talks to, and the journal of what was said: a model of it all
/// in virtual time, or the fakes and the backend of a run.
///
/// Times are microseconds since the scenario began; whoever keeps a journal of real time heeds them
/// not.
package protocol PhoneSurroundings: Sendable {
    var profile: Profile { get }
    var namespace: Namespace { get }
    /// What the journal holds of this run.
    var record: [Exchange] { get }
    /// Every phone that there is.
    var phones: [String] { get }

    mutating func assign(_ id: String, to user: String)
    mutating func write(_ gesture: Gesture, on phone: String, at time: Int64)
    mutating func writeScreen(_ shown: JSONValue, of phone: String, at time: Int64)
    /// Looks at what a phone holds.
    mutating func observe(_ phone: String, at time: Int64)

    /// Which kind of app an act is for.
    func app(for action: AppAction) -> AppAction.App
    /// An act in the app with accounts.
    ///
    /// - Returns: Why the run can say nothing; nil when it can.
    mutating func use(_ action: AppAction) async -> String?

    mutating func launch(_ phone: String, isReload: Bool, at time: Int64) -> PhoneLaunch
    /// A command that a page's setter took.
    ///
    /// - Returns: What the native side answers: `replies`, and perhaps `throws`.
    mutating func command(
        _ text: String,
        from page: PhoneRef,
        pageTime: Int64,
        at time: Int64
    ) -> JSONValue
    /// A call of the app's to its backend.
    ///
    /// - Parameters:
    ///   - route: The route, by the name of its endpoint.
    ///   - values: What the endpoint's templates stand for.
    ///   - page: The page that calls.
    ///   - time: When it does.
    /// - Returns: Its number in the journal, and the answer; nil: there is no such route.
    mutating func call(
        _ route: String,
        _ values: [String: String],
        from page: PhoneRef,
        at time: Int64
    ) async -> (sequence: Int, answer: AppBackend.Answer)?
    /// The answer to a call has arrived.
    mutating func complete(_ sequence: Int, _ outcome: Exchange.Outcome, at time: Int64)

    /// The phone, its accounts or its owner do as the contract says.
    ///
    /// - Returns: What the page is told of it.
    mutating func apply(_ change: PhoneChange, product: String?, at time: Int64) -> [JSONValue]
    mutating func take(_ plan: BridgePlan)
    mutating func take(_ plan: AppBackendPlan)
    /// - Returns: Why the store refuses; nil when it has done it.
    mutating func carryOut(_ act: StoreAct) -> String?
}

/// A page that opens on a phone, and what the runtime has put there before its scripts.
package struct PhoneLaunch: Hashable, Sendable {
    package let page: PhoneRef
    /// The device as the fake shows it: `globals`, `globalDelays`, `userAgent` and more.
    package let device: JSONValue

    package init(page: PhoneRef, device: JSONValue) {
        self.page = page
        self.device = device
    }

    package var userAgent: String { device["userAgent"]?.string ?? "" }
}

extension PhoneSurroundings {
    /// The timeline of what has happened so far, from an entry of the record on.
    package func timeline(from index: Int = 0) -> ClientTimeline {
        ClientTimeline(Array(record.dropFirst(index)), profile: profile)
    }

    package func key(_ role: PhoneChange.VaultRole) -> String {
        profile.app.vaultKeys[role] ?? role.rawValue
    }
}
