package import Contracts
package import Judging
package import Providers
package import Values

/// The environment of an app on a phone, and the journal of its traffic.
///
/// It is either a model in virtual time, or the fakes and the tested backend of a run.
///
/// All times are in microseconds since the contract's first step. An environment that records real
/// time ignores these times.
package protocol PhoneEnvironment: Sendable {
    var profile: Profile { get }
    var namespace: Namespace { get }
    /// The journal entries of this run so far.
    var recordedExchanges: [Exchange] { get }
    /// The names of all phones in the run.
    var phones: [String] { get }

    mutating func assign(_ id: String, to user: String)
    mutating func write(_ userAction: UserAction, on phone: String, at time: Int64)
    mutating func recordScreen(_ screenState: JSONValue, of phone: String, at time: Int64)
    /// Records the current data of a phone, such as its vault, in the journal.
    mutating func recordPhoneData(_ phone: String, at time: Int64)

    /// Returns the kind of app in which the action happens: the Despia app, or the app with
    /// accounts.
    func app(for action: AppAction) -> AppAction.App
    /// Carries out a user action in the scripted app with accounts.
    ///
    /// - Returns: The reason why the run is inconclusive; nil on success.
    mutating func performAccountAction(_ action: AppAction) async -> String?

    mutating func launch(_ phone: String, isReload: Bool, at time: Int64) -> PhoneLaunch
    /// Sends a command from a page to the bridge.
    ///
    /// - Returns: The response of the native side: the member `replies`, and the member `throws` if
    ///   the command throws an error.
    mutating func command(
        _ text: String,
        from page: PhoneRef,
        pageTime: Int64,
        at time: Int64
    ) -> JSONValue
    /// Sends a call of the app's page to the app's backend.
    ///
    /// - Parameters:
    ///   - route: The name of the route's endpoint in the profile.
    ///   - values: The values for the templates of the endpoint, by name.
    ///   - page: The page that sends the call.
    ///   - time: The time of the call.
    /// - Returns: The sequence number of the call in the journal, and the response; nil when the
    ///   profile does not have the route.
    mutating func call(
        _ route: String,
        _ values: [String: String],
        from page: PhoneRef,
        at time: Int64
    ) async -> (sequence: Int, response: AppBackend.CallResult)?
    /// Records in the journal that the response to a call has arrived.
    mutating func complete(_ sequence: Int, _ outcome: Exchange.Outcome, at time: Int64)

    /// Applies a `phone:` step of a contract to a phone and its store account.
    ///
    /// - Returns: The replies that the native side sends to the page.
    mutating func apply(_ change: PhoneChange, product: String?, at time: Int64) -> [JSONValue]
    mutating func take(_ plan: BridgePlan)
    mutating func take(_ plan: AppBackendPlan)
    /// Carries out a `store:` step of a contract, such as a renewal.
    ///
    /// - Returns: The reason why the store refuses the operation; nil on success.
    mutating func carryOut(_ act: FakeStoreAction) -> String?
}

/// A page that opens on a phone, with the data that the Despia runtime provides before the page's
/// scripts run.
package struct PhoneLaunch: Hashable, Sendable {
    package let page: PhoneRef
    /// The description of the device from the fake: `globals`, `globalDelays`, `userAgent` and
    /// other members.
    package let device: JSONValue

    package init(page: PhoneRef, device: JSONValue) {
        self.page = page
        self.device = device
    }

    package var userAgent: String { device["userAgent"]?.string ?? "" }
}

extension PhoneEnvironment {
    /// Returns the commands, calls and page contents in the journal, from the entry with that index
    /// on.
    package func timeline(from index: Int = 0) -> ClientTimeline {
        ClientTimeline(Array(recordedExchanges.dropFirst(index)), profile: profile)
    }

    package func key(_ role: VaultRole) -> String {
        profile.app.vaultKeys[role] ?? role.rawValue
    }
}
