/// One thing that happens to the backend, or to the world around it.
package enum Step: Hashable, Codable, Sendable {
    /// The app announces this user, the way the profile says.
    case register(user: String)
    /// The user is known by this very id, whatever the namespace says.
    case name(user: String, id: String)
    /// Somebody made this account, by which people sign in.
    case createAccount(String)
    case deliver(Delivery)
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
        /// Right, but an hour old.
        case stale
        /// A fresh time in front of a signature made for an older one.
        case refreshed
        case malformed
        /// Purchasely's header of old alone, which does not cover the body.
        case deprecatedOnly = "deprecated-only"
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

    /// How many first attempts do not reach their end by plan.
    package var disturbedCount: Int { answersLost + requestsCut + hangUps + (crash == nil ? 0 : 1) }

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

    /// When the event happened, relative to the start of the run.
    package var time: Duration {
        switch subject {
        case .event(let spec), .raw(.truncated(let spec, _)): spec.time
        case .purchasely(let spec): spec.time
        case .body, .raw(.text), .repeats, .told: .zero
        }
    }
}

/// A stop of the backend in the middle of a delivery.
package struct Crash: Hashable, Codable, Sendable {
    /// How far the delivery has come.
    package enum Moment: String, Hashable, Codable, Sendable, CaseIterable {
        /// Half of the request is out.
        case halfSent = "half-sent"
        /// All of the request is out.
        case sent
        /// Half of the time has passed that the backend usually takes.
        case working
        /// The answer is there.
        case answered
    }

    package var signal: Restart.Signal
    package var moment: Moment

    package init(signal: Restart.Signal, moment: Moment) {
        self.signal = signal
        self.moment = moment
    }
}

/// What the event says; the provider's factory knows how its bodies say it.
package struct EventSpec: Hashable, Codable, Sendable {
    /// Under which of its ids an event names a customer.
    package enum KnownBy: String, Hashable, Codable, Sendable, CaseIterable {
        /// `app_user_id` is the registered id.
        case appUserID = "app_user_id"
        /// `app_user_id` is an anonymous id; the registered one stands in `aliases` alone.
        case aliases
        /// `app_user_id` is an anonymous id; the registered one is `original_app_user_id`.
        case originalAppUserID = "original_app_user_id"
        /// Every id in the body is anonymous or unknown.
        case anonymous
    }

    /// The 21 core types and the five paywall types, in the order of the RevenueCat fact sheet,
    /// section 2.1.
    ///
    /// The set is open: a contract that wants an unknown type says `FUTURE_…`.
    package static let types = [
        "TEST", "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION",
        "NON_RENEWING_PURCHASE", "SUBSCRIPTION_PAUSED", "EXPIRATION", "BILLING_ISSUE",
        "PRODUCT_CHANGE", "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED", "TRANSFER",
        "TEMPORARY_ENTITLEMENT_GRANT", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION",
        "EXPERIMENT_ENROLLMENT", "PURCHASE_REDEEMED", "PRICE_INCREASE_CONSENT_REQUIRED",
        "PRICE_INCREASE_CONSENT_APPROVED", "SUBSCRIBER_ALIAS", "PAYWALL_IMPRESSION",
        "PAYWALL_CLOSE", "PAYWALL_CANCEL", "PAYWALL_EXIT_OFFER", "PAYWALL_COMPONENT_INTERACTED",
    ]

    package static let stores = [
        "APP_STORE", "PLAY_STORE", "AMAZON", "STRIPE", "PROMOTIONAL", "ROKU", "RC_BILLING",
        "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]

    /// Why something ended, as section 2.7 of the RevenueCat fact sheet lists it.
    ///
    /// A renewal may say that it is the first after a trial; other types say no reason. The set is
    /// open: a contract that wants an unknown reason says `FUTURE_…`.
    package static func reasons(of type: String) -> [String] {
        let ends = [
            "UNSUBSCRIBE", "BILLING_ERROR", "DEVELOPER_INITIATED", "PRICE_INCREASE",
            "CUSTOMER_SUPPORT", "UNKNOWN",
        ]
        return switch type {
        case "CANCELLATION": ends
        case "EXPIRATION": ends + ["SUBSCRIPTION_PAUSED"]
        case "RENEWAL": ["TRIAL_CONVERSION"]
        default: []
        }
    }

    package var type: String
    package var user: String?
    package var knownBy: KnownBy = .appUserID
    /// Users on the losing and winning side of a TRANSFER.
    package var from: [String] = []
    package var to: [String] = []
    package var product: String
    package var newProduct: String?
    package var store = "APP_STORE"
    package var environment = "PRODUCTION"
    package var period = "NORMAL"
    package var reason: String?
    /// When the event was generated, relative to the start of the run.
    package var time: Duration = .zero
    /// Start of the period, relative to the start of the run; by default the time of the event.
    package var purchased: Duration?
    /// End of the period, relative to the start of the run; by default 30 days after its start.
    package var expires: Duration?
    /// Never ends: `expiration_at_ms` is null.
    package var isLifetime = false
    /// End of the grace period, relative to the start of the run.
    package var grace: Duration?

    package init(type: String, user: String?, product: String = "premium_monthly") {
        self.type = type
        self.user = user
        self.product = product
    }

    package var users: [String] { (user.map { [$0] } ?? []) + from + to }
}

/// The backend is stopped and started again on the same data.
package struct Restart: Hashable, Codable, Sendable {
    package enum Signal: String, Hashable, Codable, Sendable, CaseIterable {
        case kill = "KILL"
        case terminate = "TERM"
    }

    package var signal: Signal
    /// The backend comes back in this time zone, by the variable `TZ`; nil leaves it alone.
    package var timeZone: String?

    package init(signal: Signal, timeZone: String? = nil) {
        self.signal = signal
        self.timeZone = timeZone
    }
}
