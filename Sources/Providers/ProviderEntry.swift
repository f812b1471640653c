package import Redaction
package import Values

/// The entry of a provider in `ProviderTable`.
///
/// It exposes the members of `Provider` as closures, so that code can use all providers without
/// knowing their types.
package final class ProviderEntry: Sendable {
    /// The provider's type, for code that asks whether it adopts a protocol of another module.
    package let type: any Provider.Type
    package let party: Exchange.Party
    package let title: String
    package let defaultPort: Int
    package let secrets: SecretFieldNames
    package let hosts: [ServiceHost]
    package let hints: ProviderHints
    package let affectsOtherFakes: Bool
    package let profileSecrets: [ProfileSecret]
    package let features: [Feature]
    package let effects: [EffectKind]
    package let productNaming: (any ProductNaming.Type)?
    package let plannedCalls: PlannedCalls?
    package let controls: [ProviderControl]
    /// The switches of the provider's `settings`, under the provider's name, followed by its
    /// additional groups of switches.
    package let switches: [SwitchGroup]
    /// The sender of the provider's events; nil for a provider that sends none.
    package let sender: WebhookSenderEntry?
    /// The provider as a sender with whose events Assay checks a backend; nil for other providers.
    package let purchaseSender: (any PurchaseSender.Type)?
    /// The provider as a fake that follows the events of a contract; nil for other providers.
    package let eventDrivenFake: (any EventDrivenFake.Type)?
    /// The provider as an issuer of ID tokens; nil for other providers.
    package let tokenIssuer: (any TokenIssuer.Type)?
    /// The provider as a service that sends messages; nil for other providers.
    package let pushService: (any PushService.Type)?
    /// The provider as a fake that serves a script to web pages; nil for other providers.
    package let scriptServer: (any ScriptServer.Type)?
    /// Creates the list of the service's operations on demand, so that the program's start does not
    /// wait for it.
    package let operations: @Sendable () -> [ServiceOperation]
    package let liveReadPlan: @Sendable () -> LiveReadPlan?
    package let caller: @Sendable (HTTPMessage.Request) -> Exchange.Party
    package let isCalled: @Sendable (_ backend: BackendTraits) -> Bool
    package let environment: @Sendable (BackendSetup) -> [String: String]
    package let enteredSecrets: @Sendable (Services) -> [(name: String, secret: Secret)]
    package let subscribers: @Sendable (Services, Instant) -> [SubscriberSummary]

    /// The hosts that belong to this service alone.
    ///
    /// If a file of a backend names one of these hosts, the backend uses this service.
    package var exclusiveHosts: [String] { hosts.filter(\.isExclusive).map(\.name) }

    /// Responds to one request to the provider's fake.
    let respond:
        @Sendable (inout Services, HTTPMessage.Request, Instant, ProviderPlan.PlannedResponse) ->
            Reply
    let isClosedToForeignPages: @Sendable (Services, HTTPMessage.Request) -> Bool
    let failureResponse: @Sendable (Services, Int, HTTPMessage.Request) -> HTTPMessage.Response
    /// Returns the service's response to a call that came too soon.
    ///
    /// The number is the requested pause in milliseconds.
    let tooManyRequests: @Sendable (Services, Int64, HTTPMessage.Request) -> HTTPMessage.Response
    let plannedRefusal: @Sendable (Services, String) -> HTTPMessage.Response?
    let copyDataFromOtherFakes: @Sendable (inout Services, HTTPMessage.Request, Instant) -> Void
    let settle: @Sendable (inout Services, Instant) -> [Services.InternalCall]
    let nextChangeTime: @Sendable (Services) -> Instant?
    let renewalCount: @Sendable (Services, Instant) -> Int
    let call: @Sendable (Exchange) -> ProviderCall?
    /// Returns the description of a call for readers; nil when the method and path suffice.
    package let callText: @Sendable (Exchange) -> String?
    let copyConfiguration: @Sendable (inout Services, Services) -> Void
    let take: @Sendable (inout Services, Secret?) -> Void
    /// The initial state of a provider without a stored property in `Services`; nil for the other
    /// providers.
    let makeAdditionalState: (@Sendable (_ seed: UInt64, Secret?) -> any Provider)?
    let decodeAdditionalState: @Sendable (any Decoder) throws -> any Provider

    /// Creates the entry of a provider that sends no events.
    package convenience init<Kind: Provider>(
        _ stateKeyPath: any WritableKeyPath<Services, Kind> & Sendable
    ) {
        self.init(stateKeyPath, sender: nil, isAdditional: false)
    }

    /// Creates the entry of a provider that sends events.
    package convenience init<Kind: WebhookSender>(
        _ stateKeyPath: any WritableKeyPath<Services, Kind> & Sendable
    ) {
        self.init(stateKeyPath, sender: WebhookSenderEntry(stateKeyPath), isAdditional: false)
    }

    /// Creates the entry of a provider that sends events and has no stored property in `Services`.
    package convenience init<Kind: WebhookSender>(additional _: Kind.Type) {
        let stateKeyPath: any WritableKeyPath<Services, Kind> & Sendable =
            \.[AdditionalState<Kind>()]
        self.init(stateKeyPath, sender: WebhookSenderEntry(stateKeyPath), isAdditional: true)
    }

    private init<Kind: Provider>(
        _ stateKeyPath: any WritableKeyPath<Services, Kind> & Sendable,
        sender: WebhookSenderEntry?,
        isAdditional: Bool
    ) {
        self.sender = sender
        let makeState: @Sendable (UInt64, Secret?) -> any Provider = { Kind(seed: $0, key: $1) }
        makeAdditionalState = isAdditional ? makeState : nil
        decodeAdditionalState = { try Kind(from: $0) }
        purchaseSender = Kind.self as? any PurchaseSender.Type
        eventDrivenFake = Kind.self as? any EventDrivenFake.Type
        tokenIssuer = Kind.self as? any TokenIssuer.Type
        pushService = Kind.self as? any PushService.Type
        scriptServer = Kind.self as? any ScriptServer.Type
        let service = Kind.self as? any BackendService.Type
        type = Kind.self
        party = Kind.party
        title = Kind.title
        defaultPort = Kind.defaultPort
        secrets = Kind.secrets
        hosts = service?.hosts ?? []
        hints = service?.hints ?? ProviderHints()
        isCalled = { service?.isCalled(by: $0) ?? false }
        environment = { service?.environment($0) ?? [:] }
        affectsOtherFakes = Kind.affectsOtherFakes
        let terms = service?.contractTerms
        profileSecrets = terms?.secrets ?? []
        features = terms?.features ?? []
        effects = terms?.effects ?? []
        productNaming = terms?.productNaming
        plannedCalls = terms?.plannedCalls
        controls = Kind.controls
        let settingsGroup = SwitchGroup(Kind.party.description) {
            $0[keyPath: stateKeyPath].settings
        } write: {
            $0[keyPath: stateKeyPath].settings = $1
        }
        switches = [settingsGroup] + Kind.additionalSwitches
        operations = { Kind.operations }
        liveReadPlan = { Kind.liveReadPlan }
        caller = { Kind.caller(of: $0) }
        enteredSecrets = { $0[keyPath: stateKeyPath].enteredSecrets }
        subscribers = { $0[keyPath: stateKeyPath].subscribers(at: $1) }
        respond = { $0[keyPath: stateKeyPath].respond(to: $1, at: $2, plannedResponse: $3) }
        isClosedToForeignPages = { $0[keyPath: stateKeyPath].isClosedToForeignPages($1) }
        failureResponse = { $0[keyPath: stateKeyPath].failureResponse($1, of: $2) }
        tooManyRequests = { $0[keyPath: stateKeyPath].tooManyRequests($1, of: $2) }
        plannedRefusal = { $0[keyPath: stateKeyPath].failureResponse(code: $1) }
        copyDataFromOtherFakes = { Kind.copyDataFromOtherFakes(&$0, for: $1, at: $2) }
        settle = { Kind.settle(&$0, at: $1) }
        nextChangeTime = { $0[keyPath: stateKeyPath].nextChangeTime }
        renewalCount = { $0[keyPath: stateKeyPath].renewalCount(by: $1) }
        call = { Kind.call(in: $0) }
        callText = { Kind.callText($0) }
        copyConfiguration = {
            $0[keyPath: stateKeyPath].copyConfiguration(from: $1[keyPath: stateKeyPath])
        }
        take = { $0[keyPath: stateKeyPath].take(key: $1) }
    }
}
