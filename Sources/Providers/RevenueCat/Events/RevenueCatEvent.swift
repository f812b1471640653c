package import Conformance

/// One event of RevenueCat: what happened, before it is text.
///
/// A contract's line and a purchase in the store model both become this value; they state facts and
/// know no key. `RevenueCatEventWriter` is the only place that does.
package struct RevenueCatEvent: Hashable, Sendable {
    /// One of `EventSpec.types`, or any other text: the set is open.
    package var type: String
    /// Unique per event, upper case as in every capture.
    package var id: String
    /// When RevenueCat generated the event, not when it is sent.
    package var time: Instant
    /// The app's id in RevenueCat.
    package var appID: String
    package var content: Content

    package init(type: String, id: String, time: Instant, appID: String, content: Content) {
        self.type = type
        self.id = id
        self.time = time
        self.appID = appID
        self.content = content
    }

    /// The sets of fields that types carry (fact sheet, sections 2.2 and 2.6).
    ///
    /// An identity is missing only where a contract names nobody.
    package enum Content: Hashable, Sendable {
        /// The lifecycle types, and every type that nobody knows yet.
        case lifecycle(Identity?, Item, Detail)
        case transfer(Transfer)
        case temporaryGrant(Identity?, Item)
        case currency(Identity?, Item, Currency)
        case enrollment(Identity?, Enrollment)
        case redemption(Redemption)
        case priceConsent(Identity?, Item)
        /// `SUBSCRIBER_ALIAS`, which new projects do not get.
        case alias(Identity?, Item)
        case paywall(Identity?, PaywallVisit)
    }

    /// Whom an event is about (section 2.4).
    package struct Identity: Hashable, Sendable {
        package var current: String
        package var original: String
        package var aliases: [String]
        /// Name → `{value, updated_at_ms}`.
        package var attributes: JSONObject
        /// Experiments that the customer is enrolled in.
        package var experiments: [JSONValue] = []

        package init(
            current: String,
            original: String,
            aliases: [String],
            attributes: JSONObject = JSONObject()
        ) {
            self.current = current
            self.original = original
            self.aliases = aliases
            self.attributes = attributes
        }
    }

    /// What was bought, where, for how long and under which ids (section 2.5).
    package struct Item: Hashable, Sendable {
        /// As webhooks write it: Play joins the base plan.
        package var product: String
        /// As webhooks write it: `APP_STORE`.
        package var store: String
        package var environment: String
        /// `NORMAL`, `TRIAL`, `INTRO`, `PROMOTIONAL`, `PREPAID`.
        package var period: String
        package var purchased: Instant
        /// None: it never ends.
        package var expires: Instant?
        package var transactionID: String
        package var originalTransactionID: String
        /// Empty: the product maps to none.
        package var entitlements: [String]
        package var offering: String?
        package var offerCode: String?
        package var isFamilyShared = false
        /// ISO 3166-1, from the last request of the SDK.
        package var country: String
        /// ISO 4217.
        package var currency: String?
        package var money = Money.none
        /// Starts at 1; a converted trial counts.
        package var renewalNumber: Int64 = 1

        package init(
            product: String,
            store: String,
            environment: String,
            period: String,
            purchased: Instant,
            expires: Instant?,
            transactionID: String,
            originalTransactionID: String,
            entitlements: [String],
            country: String,
            currency: String?
        ) {
            self.product = product
            self.store = store
            self.environment = environment
            self.period = period
            self.purchased = purchased
            self.expires = expires
            self.transactionID = transactionID
            self.originalTransactionID = originalTransactionID
            self.entitlements = entitlements
            self.country = country
            self.currency = currency
        }
    }

    /// What an event moves: only purchases, renewals, refunds and their reversals move any.
    package enum Money: Hashable, Sendable {
        case none
        /// In US dollars, and in the currency of the purchase.
        case paid(Double, local: Double)
        /// The same amounts, given back.
        case refunded(Double, local: Double)
    }

    /// What exactly one lifecycle type says beside the others.
    package enum Detail: Hashable, Sendable {
        case none
        case renewed(isTrialConversion: Bool)
        case cancelled(reason: String)
        case expired(reason: String)
        /// A failed charge; none: without grace.
        case failed(graceEnd: Instant?)
        case paused(until: Instant?)
        /// None: an immediate change on Play, which does not name the product.
        case changed(to: String?)
    }

    /// Purchases that moved from one customer to another.
    package struct Transfer: Hashable, Sendable {
        package var store: String
        package var environment: String
        package var losers: [String]
        package var winners: [String]

        package init(store: String, environment: String, losers: [String], winners: [String]) {
            self.store = store
            self.environment = environment
            self.losers = losers
            self.winners = winners
        }
    }

    /// Virtual currency that was granted or taken.
    package struct Currency: Hashable, Sendable {
        package var amount: Int64
        package var code: String
        package var name: String
        package var description: String
        package var productName: String
        package var transactionID: String

        package init(
            amount: Int64,
            code: String,
            name: String,
            description: String,
            productName: String,
            transactionID: String
        ) {
            self.amount = amount
            self.code = code
            self.name = name
            self.description = description
            self.productName = productName
            self.transactionID = transactionID
        }
    }

    package struct Enrollment: Hashable, Sendable {
        package var experiment: String
        package var variant: String
        package var offering: String

        package init(experiment: String, variant: String, offering: String) {
            self.experiment = experiment
            self.variant = variant
            self.offering = offering
        }
    }

    /// A web purchase that was claimed in an app.
    package struct Redemption: Hashable, Sendable {
        package var store: String
        package var environment: String
        package var losers: [String]
        package var winners: [String]
        /// `alias`, `transfer` or `redeemer_owns`.
        package var outcome: String
        package var workflow: String
        package var step: String
        package var trace: String

        package init(
            store: String,
            environment: String,
            losers: [String],
            winners: [String],
            outcome: String,
            workflow: String,
            step: String,
            trace: String
        ) {
            self.store = store
            self.environment = environment
            self.losers = losers
            self.winners = winners
            self.outcome = outcome
            self.workflow = workflow
            self.step = step
            self.trace = trace
        }
    }

    /// What somebody did on a paywall.
    package struct PaywallVisit: Hashable, Sendable {
        package var paywall: String
        package var name: String
        package var session: String
        package var locale: String
        package var environment: String
        /// The product that a tap on a package chose.
        package var product: String

        package init(
            paywall: String,
            name: String,
            session: String,
            locale: String,
            environment: String,
            product: String
        ) {
            self.paywall = paywall
            self.name = name
            self.session = session
            self.locale = locale
            self.environment = environment
            self.product = product
        }
    }
}
