internal import Grammar
package import Providers
package import Redaction
package import Values

/// A webhook event that is sent to the backend, once or several times, with or without faults.
package struct Delivery: Hashable, Codable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// An event of a provider, from which Assay generates a realistic body.
        case event(AnyProviderEvent)
        /// A literal JSON body, which may contain templates.
        case body(JSONValue)
        /// A literal body of bytes that need not be JSON.
        case raw(RawBody)
        /// The same bytes as the earlier delivery with this name.
        case repeats(String)
        /// The next event of this type that the fake store sends because of an action in the app.
        case storeEvent(String)
    }

    package enum RawBody: Hashable, Sendable {
        case text(String)
        /// The body of this event, cut off after this percentage of its bytes.
        case truncated(AnyProviderEvent, percent: Int)
    }

    /// A change of one field in the generated body; a nil value removes the field.
    package struct Edit: Hashable, Codable, Sendable {
        package let pointer: JSONPointer
        package let value: JSONValue?

        package init(pointer: JSONPointer, value: JSONValue?) {
            self.pointer = pointer
            self.value = value
        }
    }

    package var name: String
    package var subject: Subject
    /// The provider that sends the event, which determines the webhook that is called.
    package var provider: Exchange.Party
    package var edits: [Edit] = []
    /// The kilobytes of padding that are added to the body under an unknown key.
    package var paddingKilobytes = 0
    /// The nesting depth of a value that is added to the body under an unknown key; 0: none is
    /// added.
    package var addedNestingDepth = 0
    package var times = 1
    /// Whether all copies of the event are sent at the same time, on connections that are already
    /// open.
    package var sendsCopiesConcurrently = false
    /// The stored value of `isConcurrentWithNext`; nil means false, for example in runs that were
    /// saved before this property existed.
    private var isConcurrentWithNextOverride: Bool?
    /// The expected headers and body of the response, in addition to its status; nil: not checked.
    package var responsePattern: ResponsePattern?
    /// The virtual time between the previous step and this delivery.
    package var delay: Duration = .zero
    /// Whether the sender retries the delivery by the provider's schedule until the backend
    /// responds with 200.
    package var followsRetrySchedule = false
    /// The number of initial delivery attempts that the backend processes but whose response is
    /// lost.
    package var lostResponses = 0
    /// The number of initial delivery attempts that break off inside the request body.
    package var truncatedRequests = 0
    /// The number of initial delivery attempts on which the sender disconnects after sending the
    /// request.
    package var disconnects = 0
    /// The number of initial delivery attempts during which the backend's database fails; nil:
    /// none.
    package var databaseFailureCount: Int?
    package var authorization: SenderProof.Authorization = .configured
    package var signature: SenderProof.Signature = .configured
    /// The response statuses that are accepted for this delivery; nil: those of `status` under
    /// `expect`.
    package var responses: ResponseExpectation?
    /// The stop and restart of the backend during the first delivery attempt; nil: the backend
    /// keeps running.
    package var crash: Crash?
    /// Whether the keys at all levels of the generated JSON body are reordered.
    package var shufflesKeys = false
    /// Whether the event happens at the provider but is never delivered to the backend.
    package var isNeverDelivered = false

    package init(name: String, subject: Subject) {
        self.init(name: name, subject: subject, provider: ProviderTable.all.defaultSender)
    }

    package init(name: String, subject: Subject, provider: Exchange.Party) {
        self.name = name
        self.subject = subject
        self.provider = provider
    }

    /// Whether the delivery is sent at the same time as the delivery or calls of the next step.
    package var isConcurrentWithNext: Bool {
        get { isConcurrentWithNextOverride ?? false }
        set { isConcurrentWithNextOverride = newValue ? true : nil }
    }

    /// The number of initial delivery attempts that fail because of planned faults.
    package var faultyAttemptCount: Int {
        lostResponses + truncatedRequests + disconnects + (databaseFailureCount ?? 0)
            + (crash == nil ? 0 : 1)
    }

    /// Whether the contract changes the generated body, for example by edits or padding.
    package var changesBody: Bool {
        !edits.isEmpty || paddingKilobytes > 0 || addedNestingDepth > 0 || shufflesKeys
    }

    /// The names of the users in the event.
    package var users: [String] {
        switch subject {
        case .event(let event), .raw(.truncated(let event, _)): event.users
        case .body(let value): Template.users(in: [value.text])
        case .raw(.text), .repeats, .storeEvent: []
        }
    }

    /// A short description of the event: its type as the provider names it, or the body when it has
    /// no type.
    package var eventDescription: String {
        switch subject {
        case .event(let event), .raw(.truncated(let event, _)): event.typeName
        case .storeEvent(let type): type
        case .body(let body): eventType(of: body) ?? body.text
        case .raw(.text(let text)): text
        case .repeats(let name): "redelivery of \(name)"
        }
    }

    /// Returns the type that a literal body contains; nil when the body contains none.
    package func eventType(of body: JSONValue) -> String? {
        sender.flatMap { body[$0.format.typePointer]?.string }
    }

    /// The sender of the event; nil when the table of the current task lacks the provider.
    package var sender: WebhookSenderEntry? { ProviderTable.all[provider]?.sender }

    /// The event that the delivery describes, whether its body is complete or cut off; nil when the
    /// contract contains the body itself or refers to another event.
    package var event: AnyProviderEvent? {
        switch subject {
        case .event(let event), .raw(.truncated(let event, _)): event
        case .body, .raw(.text), .repeats, .storeEvent: nil
        }
    }

    /// Whether the event transfers purchases from one user to another.
    package var isTransfer: Bool {
        guard case .event(let event) = subject else { return false }
        return event.isTransfer
    }

    /// The time of the event, relative to the start of the run.
    package var time: Duration { event?.time ?? .zero }
}

extension Delivery.Subject {
    /// An event of a provider, from which Assay generates a realistic body.
    package static func event(_ event: some ProviderEvent) -> Delivery.Subject {
        .event(AnyProviderEvent(event))
    }
}

extension Delivery {
    var traits: StepTraits {
        var traits = StepTraits(.deliver)
        if case .storeEvent = subject { traits.kind = .storeEvent }
        traits.users = users
        if let feature = sender?.format.feature { traits.needs.append(feature) }
        traits.needs += requiredEventFeatures
        if crash != nil { traits.needs.append(.restart) }
        if databaseFailureCount != nil {
            traits.needs.append(.fault)
            // The database holds the state of every run.
            traits.affectsConcurrentRuns = true
        }
        traits.faultFreeForm = .deliver(faultFree)
        traits.definesExpectedResponse = responsePattern != nil
        traits.endsBackendProcess = crash != nil
        traits.endDependsOnBackendTimers = faultyAttemptCount > 0
        return traits
    }

    /// The features without which a backend cannot be expected to process the delivered event like
    /// any other.
    private var requiredEventFeatures: [Feature] {
        guard case .event(let event) = subject else { return [] }
        let editedValues = edits.compactMap { edit in edit.value.map { (edit.pointer, $0) } }
        return event.requiredFeatures(
            editedValues: Dictionary(editedValues, uniquingKeysWith: { $1 })
        )
    }

    /// The features with which a backend can refuse the delivery's wrong credentials; empty when
    /// the credentials are correct.
    package var requiredCredentialFeatures: [Feature] {
        (authorization == .configured ? [] : [.authorization])
            + (signature == .configured ? [] : [sender?.format.signatureFeature].compactMap(\.self))
    }

    /// A copy of the delivery without faults, which arrives immediately and on the first attempt.
    private var faultFree: Delivery {
        var delivery = self
        delivery.followsRetrySchedule = false
        delivery.lostResponses = 0
        delivery.truncatedRequests = 0
        delivery.disconnects = 0
        delivery.databaseFailureCount = nil
        delivery.crash = nil
        delivery.delay = .zero
        delivery.responses = nil
        delivery.isNeverDelivered = false
        return delivery
    }
}

extension Syntax where Value == String {
    /// The syntax of a reference to an earlier delivery, by its name.
    static var earlierDeliveryName: Syntax {
        Syntax(
            .name(.delivery, .refers),
            read: { node, reader in
                guard let name = reader.text(node) else { return nil }
                let knownNames = reader.names.introducedNames(.delivery)
                if knownNames.contains(name) { return name }
                reader.fail(.unknownDelivery(name, knownNames: knownNames), at: node.location)
                return nil
            },
            write: { .text($0) }
        )
    }
}

extension Construct where Owner == Delivery {
    /// Allows these keys, which change the body, only in deliveries with a JSON body.
    ///
    /// Raw and truncated bodies have no fields to change.
    func requiringBody(_ keys: [String]) -> Construct {
        keys.reduce(self) { construct, key in
            construct.companionKeys(
                key,
                ProviderTable.all.eventNotations.map(\.key) + [
                    "body", "store-event", "repeats",
                ]
            )
            .mutuallyExclusiveKeys(["cut-body-at", key])
        }
    }
}

extension Step {
    /// Returns the step with secrets in the strings of its event redacted, because timelines print
    /// these strings.
    package func redacted(by redaction: Redaction) -> Step {
        guard case .deliver(var delivery) = self else { return self }
        switch delivery.subject {
        case .event(let event): delivery.subject = .event(event.redacted(by: redaction))
        case .raw(.truncated(let event, let percent)):
            delivery.subject = .raw(
                .truncated(event.redacted(by: redaction), percent: percent)
            )
        case .storeEvent(let type): delivery.subject = .storeEvent(redaction.words(type))
        case .raw(.text), .body, .repeats: return self
        }
        return .deliver(delivery)
    }
}
