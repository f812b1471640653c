package import Values

/// A sender whose events Assay itself sends to a backend, before the cases of the contracts.
///
/// Assay finds the webhook with a test event, and measures with a purchase which effects the
/// backend shows and how fast they come. It uses the first such sender in the lists for users that
/// has an endpoint in the profile.
package protocol PurchaseSender: WebhookSender {
    /// Returns the body of an event that reports the first purchase of a user.
    ///
    /// - Parameters:
    ///   - user: The name of the user in the namespace of the context.
    ///   - name: A name from which the ID of the event is derived.
    ///   - context: The namespace and the time of the run.
    /// - Returns: The body in the form in which the service delivers it.
    static func purchaseEvent(
        of user: String,
        name: String,
        in context: EventContext
    ) -> JSONValue

    /// Returns the body of the event with which the service tests a webhook.
    ///
    /// A backend does nothing for this event. The parameters are those of `purchaseEvent`.
    static func testEvent(of user: String, name: String, in context: EventContext) -> JSONValue

    /// Common paths for the webhook of the service, the most common one first.
    static var commonWebhookPaths: [String] { get }

    /// Words in the paths of routes that may receive the service's events, in lower case.
    ///
    /// The most specific word comes first.
    static var webhookPathWords: [String] { get }

    /// The operation of the service's API with which a backend reads the current state of a user's
    /// purchases, such as `GET /purchases`; nil when the API has no such operation.
    static var stateReadOperation: String? { get }
}

/// A sender whose fake also has an API, which returns the state that the events of a contract
/// report.
///
/// The fake did not create these events, so its state does not contain them by itself.
package protocol EventDrivenFake: WebhookSender {
    /// Whether a literal body of a contract reports the state of a user.
    static func reportsUserState(_ body: JSONValue) -> Bool

    /// Returns the IDs of all users that an event names.
    static func userIDs(in body: JSONValue) -> [String]

    /// Changes the state of the fake to the state that an event reports.
    static func apply(_ body: JSONValue, _ services: inout Services)

    /// Records the resources of the project that an event names, such as its product, but nothing
    /// about its user.
    ///
    /// A call that names a resource but no user belongs to the default namespace. So the fake of
    /// the default namespace needs the resources of the events in every namespace.
    static func recordResources(of body: JSONValue, _ services: inout Services)
}

extension EventDrivenFake {
    /// Does nothing, as for a service whose API has no resources of a project.
    package static func recordResources(of _: JSONValue, _: inout Services) {}
}

extension Services {
    /// Changes the state of a fake to the state that an event of a contract reports.
    package mutating func apply(_ body: JSONValue, to fake: any EventDrivenFake.Type) {
        fake.apply(body, &self)
    }

    /// Records the resources of a project that an event of a contract names.
    package mutating func recordResources(
        of body: JSONValue,
        in fake: any EventDrivenFake.Type
    ) {
        fake.recordResources(of: body, &self)
    }
}
