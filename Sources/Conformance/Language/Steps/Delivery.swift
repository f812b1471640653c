/// An event handed to the backend, once or more often, undisturbed or not.
package struct Delivery: Hashable, Codable, Sendable {
    package enum Subject: Hashable, Codable, Sendable {
        /// The provider's factory fills in a realistic body.
        case event(EventSpec)
        case purchasely(PurchaselySpec)
        /// A body of the contract's own, with templates.
        case body(JSONValue)
        /// Bytes that need not be JSON.
        case raw(RawBody)
        /// The same bytes as the named delivery.
        case repeats(String)
        /// The next event of that type that the store told of, because of what an app did.
        case told(String)
    }

    package enum RawBody: Hashable, Codable, Sendable {
        case text(String)
        /// The event's bytes, cut after this share of them, in percent.
        case truncated(EventSpec, percent: Int)
    }

    /// What the sender puts in `Authorization`; RevenueCat sends the configured text verbatim.
    package enum Authorization: String, Hashable, Codable, Sendable, CaseIterable {
        case configured
        case missing
        case empty
        /// Another value of the same length and form.
        case wrong
        /// The configured value with its last character changed.
        case nearMiss = "near-miss"
        /// The configured value without its last character.
        case truncated
        /// The configured value and one character more.
        case extended
        /// The secret part with its letters in the other case.
        case wrongCase = "wrong-case"
        /// The scheme without what follows it.
        case schemeOnly = "scheme-only"
    }

    /// What the sender puts in `X-RevenueCat-Webhook-Signature`.
    package enum Signature: String, Hashable, Codable, Sendable, CaseIterable {
        case configured
        case missing
        /// Made with another key.
        case wrongKey = "wrong-key"
        /// Made for other bytes than those sent.
        case otherBody = "other-body"
        /// Right, but a day old.
        case stale
        /// Right, but of a day ahead.
        case ahead
        /// A fresh time in front of a signature made for an older one.
        case refreshed
        case malformed
        /// Purchasely's header of old alone, which does not cover the body.
        case deprecatedOnly = "deprecated-only"

        /// How many seconds a signature of another moment is away: more than any receiver tolerates, to
        /// whom the width is left (RevenueCat fact sheet 1.2, Purchasely fact sheet 2).
        package static let distance: Int64 = 86_400
    }

    /// An edit of the body after the factory made it; nil removes.
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
    /// Whose webhook it is.
    package var provider = Exchange.Party.revenueCat
    package var edits: [Edit] = []
    /// A field that grows the body: this many kilobytes of text under an unknown key.
    package var paddingKilobytes = 0
    /// An unknown key whose value nests this deep.
    package var nesting = 0
    package var times = 1
    /// All copies are released at once, on connections that are already open.
    package var isTogether = false
    /// Nil in runs that were saved before it was told.
    private var joinsNext: Bool?
    /// What the answer to it must look like, beyond its status.
    package var answerPattern: AnswerPattern?
    /// Virtual time since the previous step.
    package var delay: Duration = .zero
    /// Retried by the provider's own schedule until the backend answers 200.
    package var isAlongLadder = false
    /// How many first attempts are processed while their answer is lost.
    package var answersLost = 0
    /// How many first attempts break off inside the request body.
    package var requestsCut = 0
    /// How many first attempts the sender hangs up on once its request is out.
    package var hangUps = 0
    /// During how many first attempts the backend's store fails; nil: it never does.
    package var storeFailures: Int?
    package var authorization: Authorization = .configured
    package var signature: Signature = .configured
    /// Overrides the contract's `answers` for this delivery.
    package var answers: AnswerExpectation?
    /// The backend is stopped and started again while the first attempt is under way.
    package var crash: Crash?
    /// Keys and nested keys in another order than the factory drew.
    package var shufflesKeys = false
    /// Reported to nobody: the event took place, and its delivery never did.
    package var isDropped = false

    package init(name: String, subject: Subject) {
        self.name = name
        self.subject = subject
    }

    /// It is under way at the same moment as what the next step delivers or calls.
    package var isWithNext: Bool {
        get { joinsNext ?? false }
        set { joinsNext = newValue ? true : nil }
    }

    /// How many first attempts do not reach their end by plan.
    package var disturbedCount: Int {
        answersLost + requestsCut + hangUps + (storeFailures ?? 0) + (crash == nil ? 0 : 1)
    }

    /// Whether anything of the body is another than its writer's.
    package var changesBody: Bool {
        !edits.isEmpty || paddingKilobytes > 0 || nesting > 0 || shufflesKeys
    }

    /// The users that the event names.
    package var users: [String] {
        switch subject {
        case .event(let spec): spec.users
        case .purchasely(let spec): spec.users
        case .raw(.truncated(let spec, _)): spec.users
        case .body(let value): TemplateValues.users(in: [value.text])
        case .raw(.text), .repeats, .told: []
        }
    }

    /// What it tells of, in its sender's word; of bytes that tell nothing, the bytes.
    package var what: String {
        switch subject {
        case .event(let spec), .raw(.truncated(let spec, _)): spec.type
        case .purchasely(let spec): spec.name
        case .told(let type): type
        case .body(let body): body["event"]?["type"]?.string ?? body.text
        case .raw(.text(let text)): text
        case .repeats(let name): "again \(name)"
        }
    }

    /// Whether it moves what somebody has to somebody else.
    package var isTransfer: Bool {
        guard case .event(let spec) = subject else { return false }
        return !spec.from.isEmpty || !spec.to.isEmpty
    }

    /// When the event happened, relative to the start of the run.
    package var time: Duration {
        switch subject {
        case .event(let spec), .raw(.truncated(let spec, _)): spec.time
        case .purchasely(let spec): spec.time
        case .body, .raw(.text), .repeats, .told: .zero
        }
    }
}

extension Delivery {
    var traits: StepTraits {
        var traits = StepTraits(.deliver)
        if case .told = subject { traits.kind = .told }
        traits.users = users
        if provider == .purchasely { traits.needs.append(.purchasely) }
        if crash != nil { traits.needs.append(.restart) }
        if storeFailures != nil {
            traits.needs.append(.fault)
            // Every run's state is in it.
            traits.isShared = true
        }
        traits.calm = .deliver(calm)
        traits.hasOwnAnswer = answerPattern != nil
        traits.restarts = crash != nil
        traits.isDisturbance = disturbedCount > 0
        return traits
    }

    /// What a backend has to look at, so that it refuses these credentials.
    package var credentialNeeds: [Feature] {
        let signature: Feature = provider == .purchasely ? .purchaselySignature : .signature
        return (authorization == .configured ? [] : [.authorization])
            + (self.signature == .configured ? [] : [signature])
    }

    /// It arrives at the first attempt, at once.
    private var calm: Delivery {
        var delivery = self
        delivery.isAlongLadder = false
        delivery.answersLost = 0
        delivery.requestsCut = 0
        delivery.hangUps = 0
        delivery.storeFailures = nil
        delivery.crash = nil
        delivery.delay = .zero
        delivery.answers = nil
        delivery.isDropped = false
        return delivery
    }
}

extension Syntax where Value == String {
    /// The name of a delivery that stands before.
    static var earlierDelivery: Syntax {
        Syntax(
            .name(.delivery, .refers),
            read: { node, reader in
                guard let name = reader.text(node) else { return nil }
                let known = reader.names.introduced(.delivery)
                if known.contains(name) { return name }
                reader.fail(.unknownDelivery(name, known: known), at: node.location)
                return nil
            },
            write: { .text($0) }
        )
    }
}

extension Construct where Owner == Delivery {
    /// What changes a body needs one: bytes that need not be JSON, and those that break off, have no
    /// place that could be changed.
    func changingBodies(_ keys: [String]) -> Construct {
        keys.reduce(self) { construct, key in
            construct.beside(key, ["event", "purchasely", "body", "told", "repeats"])
                .exclusive(["cut-body-at", key])
        }
    }
}

extension Step {
    /// The step with the texts of its event redacted: a timeline prints them.
    func redacted(by redaction: Redaction) -> Step {
        guard case .deliver(var delivery) = self else { return self }
        switch delivery.subject {
        case .event(let spec): delivery.subject = .event(spec.redacted(by: redaction))
        case .purchasely(var spec):
            spec.name = redaction.words(spec.name)
            delivery.subject = .purchasely(spec)
        case .raw(.truncated(let spec, let percent)):
            delivery.subject = .raw(
                .truncated(spec.redacted(by: redaction), percent: percent)
            )
        case .told(let type): delivery.subject = .told(redaction.words(type))
        case .raw(.text), .body, .repeats: return self
        }
        return .deliver(delivery)
    }
}

extension EventSpec {
    fileprivate func redacted(by redaction: Redaction) -> EventSpec {
        var copy = self
        copy.type = redaction.words(type)
        copy.reason = reason.map(redaction.words)
        return copy
    }
}
