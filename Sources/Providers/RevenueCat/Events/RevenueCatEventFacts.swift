internal import Values

extension RevenueCatEvent {
    /// The payment that an event about a purchase reports: none, the price of the purchase, or a
    /// refund of the price.
    enum PaymentKind { case none, price, refund }
}

extension RevenueCatEvent.Identity {
    /// Creates the identity of a customer in the store model.
    init(_ customer: Customer) {
        self.init(
            currentID: customer.currentID,
            originalID: customer.originalID,
            aliases: customer.ids,
            attributes: customer.attributes
        )
        experiments = customer.experiments
    }
}

extension RevenueCatEvent.PurchasedItem {
    /// The country that the SDK's latest request reports.
    ///
    /// It is the same for every customer of the fake.
    static let customerCountry = "US"

    /// Creates the item of a purchase in the store model.
    init(_ purchase: Purchase, payment kind: RevenueCatEvent.PaymentKind = .none) {
        self.init(
            product: purchase.webhookProductID,
            store: purchase.store,
            environment: purchase.environment,
            period: purchase.period,
            purchased: purchase.purchased,
            expires: purchase.expires,
            transactionID: purchase.transactionID,
            originalTransactionID: purchase.originalTransactionID,
            entitlements: purchase.entitlements,
            country: Self.customerCountry,
            currency: purchase.currency.string
        )
        offering = purchase.offering
        offerCode = purchase.offerCode
        isFamilyShared = purchase.isFamilyShared
        renewalNumber = purchase.renewalNumber
        let (amountInUSD, localAmount) = (
            Self.amount(purchase.priceUSD), Self.amount(purchase.price)
        )
        payment =
            switch kind {
            case .none: .none
            case .price: .paid(amountInUSD, localAmount: localAmount)
            case .refund: .refunded(amountInUSD, localAmount: localAmount)
            }
    }

    private static func amount(_ value: JSONValue) -> Double {
        guard case .number(let number) = value else { return 0 }
        return number.double ?? 0
    }
}
