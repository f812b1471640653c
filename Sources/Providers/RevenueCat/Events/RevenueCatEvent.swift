package import Values

/// The facts of a RevenueCat webhook event, before they are encoded.
///
/// An event in a contract and a purchase in the store model both become this value. Only
/// `RevenueCatEventWriter` knows the JSON keys.
package struct RevenueCatEvent: Hashable, Sendable {
    /// The type of the event.
    package var type: RevenueCatEventType
    /// The unique ID of the event, in upper case as in every captured event.
    package var id: String
    /// The time at which RevenueCat generated the event, which can be earlier than the time of
    /// sending.
    package var time: Instant
    /// The ID of the app at RevenueCat.
    package var appID: String
    package var content: Content

    package init(
        type: RevenueCatEventType,
        id: String,
        time: Instant,
        appID: String,
        content: Content
    ) {
        self.type = type
        self.id = id
        self.time = time
        self.appID = appID
        self.content = content
    }

    /// The facts that depend on the type of the event (RevenueCat fact sheet, sections 2.2 and
    /// 2.6).
    ///
    /// The identity is missing only if a contract names no user.
    package enum Content: Hashable, Sendable {
        /// The facts of an event about the lifecycle of a purchase, and of an event of unknown
        /// type.
        case lifecycle(Identity?, PurchasedItem, LifecycleDetail)
        case transfer(Transfer)
        case temporaryGrant(Identity?, PurchasedItem)
        case currency(Identity?, PurchasedItem, CurrencyTransaction)
        case enrollment(Identity?, Enrollment)
        case redemption(Redemption)
        case priceConsent(Identity?, PurchasedItem)
        /// The facts of an event `SUBSCRIBER_ALIAS`, which new projects do not receive.
        case alias(Identity?, PurchasedItem)
        case paywall(Identity?, PaywallVisit)
    }

    /// The IDs and attributes of the customer that an event concerns (RevenueCat fact sheet,
    /// section 2.4).
    package struct Identity: Hashable, Sendable {
        package var currentID: String
        package var originalID: String
        package var aliases: [String]
        /// The attributes of the customer.
        ///
        /// Each name has a value of the form `{value, updated_at_ms}`.
        package var attributes: JSONObject
        /// The experiments in which the customer is enrolled.
        package var experiments: [JSONValue] = []

        package init(
            currentID: String,
            originalID: String,
            aliases: [String],
            attributes: JSONObject = JSONObject()
        ) {
            self.currentID = currentID
            self.originalID = originalID
            self.aliases = aliases
            self.attributes = attributes
        }
    }

    /// The purchased product with its store, its dates and its transaction IDs (RevenueCat fact
    /// sheet, section 2.5).
    package struct PurchasedItem: Hashable, Sendable {
        /// The product ID as webhooks spell it.
        ///
        /// An ID from Play includes the base plan.
        package var product: String
        /// The store as webhooks spell it, for example `APP_STORE`.
        package var store: String
        package var environment: String
        /// The type of the period: `NORMAL`, `TRIAL`, `INTRO`, `PROMOTIONAL` or `PREPAID`.
        package var period: String
        package var purchased: Instant
        /// The end of the period.
        ///
        /// If nil, the period never ends.
        package var expires: Instant?
        package var transactionID: String
        package var originalTransactionID: String
        /// The entitlements that the product grants.
        ///
        /// The list is empty for a product without entitlements.
        package var entitlements: [String]
        package var offering: String?
        package var offerCode: String?
        package var isFamilyShared = false
        /// The country code (ISO 3166-1) that the SDK's latest request reported.
        package var country: String
        /// The currency code of the payment (ISO 4217).
        package var currency: String?
        package var payment = Payment.none
        /// The number of the purchase's current period, starting at 1.
        ///
        /// A trial that was converted counts as a period.
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

    /// The payment that an event reports.
    ///
    /// Only purchases, renewals, refunds and reversed refunds have a payment.
    package enum Payment: Hashable, Sendable {
        case none
        /// The amount that was paid, in US dollars and in the currency of the purchase.
        case paid(Double, localAmount: Double)
        /// The amount that was refunded, in US dollars and in the currency of the purchase.
        case refunded(Double, localAmount: Double)
    }

    /// The facts that only lifecycle events of one type contain, such as the reason of a
    /// cancellation.
    package enum LifecycleDetail: Hashable, Sendable {
        case none
        case renewed(isTrialConversion: Bool)
        case cancelled(reason: String)
        case expired(reason: String)
        /// A failed payment, with the end of the grace period; nil when there is no grace period.
        case billingFailed(graceEnd: Instant?)
        case paused(until: Instant?)
        /// A product change, with the new product.
        ///
        /// The product is nil for an immediate change on Play, whose event does not name it.
        case productChanged(to: String?)
    }

    /// A transfer of purchases from one customer to another.
    package struct Transfer: Hashable, Sendable {
        package var store: String
        package var environment: String
        package var previousOwners: [String]
        package var newOwners: [String]

        package init(
            store: String,
            environment: String,
            previousOwners: [String],
            newOwners: [String]
        ) {
            self.store = store
            self.environment = environment
            self.previousOwners = previousOwners
            self.newOwners = newOwners
        }
    }

    /// An amount of virtual currency that was granted or spent.
    package struct CurrencyTransaction: Hashable, Sendable {
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
        package var experimentID: String
        package var variant: String
        package var offering: String

        package init(experimentID: String, variant: String, offering: String) {
            self.experimentID = experimentID
            self.variant = variant
            self.offering = offering
        }
    }

    /// A redemption of a web purchase in an app.
    package struct Redemption: Hashable, Sendable {
        package var store: String
        package var environment: String
        package var previousOwners: [String]
        package var newOwners: [String]
        /// The outcome of the redemption: `alias`, `transfer` or `redeemer_owns`.
        package var outcome: String
        package var workflowID: String
        package var stepID: String
        package var traceID: String

        package init(
            store: String,
            environment: String,
            previousOwners: [String],
            newOwners: [String],
            outcome: String,
            workflowID: String,
            stepID: String,
            traceID: String
        ) {
            self.store = store
            self.environment = environment
            self.previousOwners = previousOwners
            self.newOwners = newOwners
            self.outcome = outcome
            self.workflowID = workflowID
            self.stepID = stepID
            self.traceID = traceID
        }
    }

    /// A user's action on a paywall.
    package struct PaywallVisit: Hashable, Sendable {
        package var paywall: String
        package var name: String
        package var sessionID: String
        package var locale: String
        package var environment: String
        /// The product in the package that the user tapped on the paywall.
        package var product: String

        package init(
            paywall: String,
            name: String,
            sessionID: String,
            locale: String,
            environment: String,
            product: String
        ) {
            self.paywall = paywall
            self.name = name
            self.sessionID = sessionID
            self.locale = locale
            self.environment = environment
            self.product = product
        }
    }
}
