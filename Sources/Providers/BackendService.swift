package import Values

/// A service that a backend uses: the backend calls it, or receives its events.
///
/// The requirements show that a backend uses the service, and make the backend use the fake.
package protocol BackendService: Provider {
    /// The hosts of the real service.
    static var hosts: [ServiceHost] { get }

    /// Hints that reveal, in the files of a backend, that the backend uses this service.
    static var hints: ProviderHints { get }

    /// The parts of contracts and profiles that concern the service alone.
    static var contractTerms: ContractTerms { get }

    /// Returns whether a backend with these traits may call the service, so that it needs the fake.
    static func isCalled(by backend: BackendTraits) -> Bool

    /// Returns the environment variables that make a backend use the fake instead of the real
    /// service.
    static func environment(_ setup: BackendSetup) -> [String: String]
}

/// A provider through which a backend sends messages to the devices of its users.
package protocol PushService: BackendService {
    /// The kind of the effect of a sent message, as contracts and recordings name it.
    static var messageKind: String { get }
}

/// A provider whose fake also serves a script to web pages, in addition to the service's API.
package protocol ScriptServer: Provider {
    /// Returns the namespace of the fakes whose state the requested script contains; nil when the
    /// request is not for the script.
    static func scriptNamespace(of request: HTTPMessage.Request) -> String?

    /// Returns the script with the state of these fakes.
    static func scriptResponse(
        to request: HTTPMessage.Request,
        _ services: inout Services,
        at now: Instant
    ) -> HTTPMessage.Response
}
