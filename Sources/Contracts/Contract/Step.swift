package import Providers
package import Values

/// One step of a test case: something that happens to the backend or in its environment.
package enum Step: Hashable, Codable, Sendable {
    /// The app registers this user at the backend, with the request that the profile defines.
    case register(user: String)
    /// The user gets exactly this ID instead of a generated one.
    case name(user: String, id: String)
    /// An account with this name is created, with which users can sign in.
    case createAccount(String)
    case deliver(Delivery)
    /// Real time passes until the subscription period or grace period in the event of this delivery
    /// has ended.
    case waitForEnd(delivery: String)
    /// Every probe of the profile reads this user's state, and the responses are not judged.
    case probe(user: String)
    /// The app sends requests to the backend's own routes; several requests are sent at the same
    /// time.
    case call([Call])
    /// The app sends a literal request, for which the contract defines the expected response.
    case request(AppRequest)
    /// A provider's fake gives the planned responses to the backend's next calls.
    case provider(ProviderPlan)
    case restart(Restart)
    /// The fake Firebase signs tokens with a new key from now on; the old key stays published.
    case rotateKeys
    /// The backend is killed at one of its calls to this provider during the previous steps, and
    /// started again.
    ///
    /// `position` is the number of the call, counted from 1.
    case killAtCall(party: Exchange.Party, position: Int)
    /// The fake Firebase revokes the user's sessions, or disables the user.
    case account(user: String, AccountChange)
    /// Something happens on a simulated phone.
    case phone(PhoneStep)
}
