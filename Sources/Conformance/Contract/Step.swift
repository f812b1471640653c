/// One thing that happens to the backend, or to the world around it.
package enum Step: Hashable, Codable, Sendable {
    /// The app announces this user, the way the profile says.
    case register(user: String)
    /// The user is known by this very id, whatever the namespace says.
    case name(user: String, id: String)
    /// Somebody made this account, by which people sign in.
    case createAccount(String)
    case deliver(Delivery)
    /// Real time passes until the end is over that this delivery told of.
    case pass(delivery: String)
    /// Every probe is asked about this user, and the answers are not judged.
    case look(user: String)
    /// Requests of the app; several are released at the same moment.
    case call([Call])
    /// A request of the app, written out, with the answer it must get.
    case request(AppRequest)
    /// The named provider answers the backend's next calls as planned.
    case provider(ProviderPlan)
    case restart(Restart)
    /// Firebase signs with a new key from now on; the old one stays published.
    case rotateKeys
    /// While the steps before it go on, the backend is killed at that call to a provider, and
    /// started again; positions count from 1.
    case killAtCall(party: Exchange.Party, position: Int)
    /// The user's sessions are revoked, or the user is disabled, at Firebase.
    case account(user: String, AccountChange)
    /// Something on a phone, in a device scenario.
    case phone(PhoneStep)

    package enum AccountChange: String, Hashable, Codable, Sendable, CaseIterable {
        case revoke, disable
    }
}
