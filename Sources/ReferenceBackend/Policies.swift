/// Every decision of this backend: what a delivery is known by, when an event is stale, what ends
/// access, how long a signature is good for.
///
/// Each is a function beside the code that asks it, with the reason above it; read there, it is all
/// that a correct backend does. They are values here, so that an experiment can exchange one and
/// leave the others alone.
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
    var purchasely = PurchaselyWebhook.Policy()
}
