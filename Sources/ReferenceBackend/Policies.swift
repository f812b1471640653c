/// The decisions of the reference backend, such as the key by which duplicates are recognized, the
/// end of access, and the validity of a signature.
///
/// Each decision is a function next to the code that uses it, with its reason. Together, the
/// functions define a correct backend. They are stored as values here, so that a deviation
/// can replace one of them.
struct Policies: Sendable {
    var authenticity = Authenticity.Policy()
    var route = WebhookRoute.Policy()
    var delivery = WebhookProcessor.Policy()
    var identity = Identity.Policy()
    var entitlement = Entitlement.Policy()
    var notification = Notification.Policy()
    var reconciliation = Reconciliation.Policy()
    var outbox = Outbox.Policy()
    var registration = Registration.Policy()
    var accounts = Accounts.Policy()
    var session = SessionRoutes.Policy()
    var probes = ProbeRoutes.Policy()
    var tokens = TokenVerifier.Policy()
    var purchasely = PurchaselyWebhookRoute.Policy()
}
