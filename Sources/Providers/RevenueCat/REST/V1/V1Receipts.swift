internal import Values

/// The operation of REST v1 with which an app reports a purchase by its receipt.
enum V1Receipts {
    static func post(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try call.requireKey(.publicKey)
        try call.requirePlatform()
        let body = call.body
        let user = try V1Call.validAppUserID(body["app_user_id"]?.string ?? "")
        guard let token = body["fetch_token"]?.string, !token.isEmpty,
            !token.hasPrefix("invalid")
        else { throw RevenueCatError(400, 7103, "The receipt is not valid.") }
        let store = store(call.platform ?? "ios")
        guard store != "PLAY_STORE" || body["product_id"]?.string != nil else {
            throw RevenueCatError(400, 7106, "product_id is required for Google purchases.")
        }
        guard (body["price"] == nil) == (body["currency"] == nil) else {
            throw RevenueCatError(400, 7226, "price and currency go together.")
        }
        state.saveLaggedState(at: call.now)
        if body["attributes"]?.object != nil { _ = try V1Attributes.set(&state, of: user, call) }
        do throws(StoreAction.Refusal) {
            try applyReceipt(&state, token, of: user, from: store, call)
        } catch {
            guard error.description.hasPrefix("7102") else {
                throw RevenueCatError(400, 7772, error.description)
            }
            throw RevenueCatError(
                422,
                7102,
                "The receipt is already in use by another subscriber."
            )
        }
        let customerNumber = state.customers.recordActivity(
            of: user,
            at: call.now,
            platform: call.platform
        )
        var purchasedItems = JSONObject()
        for purchase in state.customers[customerNumber]?.purchases ?? [] {
            purchasedItems[purchase.productID] = [
                "should_consume": .bool(purchase.isOneTime && purchase.entitlements.isEmpty)
            ]
        }
        return V1Customers.response(
            &state,
            customerNumber,
            200,
            call,
            extra: ["purchased_products": .object(purchasedItems)]
        )
    }

    /// Restores the purchases of a known receipt.
    ///
    /// A new receipt is treated as a purchase.
    private static func applyReceipt(
        _ state: inout RevenueCatState,
        _ token: String,
        of user: String,
        from store: String,
        _ call: V1Call
    ) throws(StoreAction.Refusal) {
        let body = call.body
        if let owner = state.customers.owners(of: .receipt(token)).first?.customer {
            let isPurchase = body["is_restore"]?.bool != true
            try Ownership.restore(
                &state,
                receiptOf: owner.originalID,
                by: user,
                isPurchase: isPurchase,
                call.now
            )
            return
        }
        let product: String
        if let named = body["product_id"]?.string {
            product = named
        } else if body["is_restore"]?.bool == true {
            // The restored receipt belongs to no purchase, so only the time of the customer's
            // activity is recorded.
            _ = state.customers.recordActivity(of: user, at: call.now, platform: call.platform)
            return
        } else {
            // The real service reads the product from the receipt or asks the store. The fake uses
            // the first product on sale.
            product = state.catalog.first
        }
        var action = StoreAction(.purchase, user: user)
        action.product = product
        action.store = store
        action.offering = body["presented_offering_identifier"]?.string
        action.currency = body["currency"]?.string
        if case .number(let price)? = body["price"] { action.price = price.double }
        if call.request[field: "x-is-sandbox"]?.lowercased() == "true" {
            action.environment = "SANDBOX"
        }
        let eventsBeforePurchase = state.takeEvents()
        // Puts the earlier pending events back before the new ones, even if the purchase was
        // refused.
        defer { state.outbox.putBack(eventsBeforePurchase) }
        try state.carryOut(action, at: call.now)
        attachReceiptToken(&state, token, user, product, action.environment)
        if body["create_events"]?.bool == false { _ = state.takeEvents() }
    }

    /// Saves the receipt's token with the purchase.
    ///
    /// The event about the purchase does not contain the token, so the purchase has no token until
    /// this call.
    private static func attachReceiptToken(
        _ state: inout RevenueCatState,
        _ token: String,
        _ user: String,
        _ product: String,
        _ environment: String
    ) {
        guard let customerNumber = state.customers.number(of: user) else { return }
        let id = product.split(separator: ":").first.map(String.init) ?? product
        if var purchase = state.customers[customerNumber]?.subscription(
            to: id,
            preferring: environment
        ) {
            purchase.receiptToken = token
            state.customers[customerNumber]?.putPurchase(purchase)
        } else if var purchase = state.customers[customerNumber]?.oneTime[id]?.last {
            state.customers[customerNumber]?.remove(purchase)
            purchase.receiptToken = token
            state.customers[customerNumber]?.putPurchase(purchase)
        }
    }

    private static func store(_ platform: String) -> String {
        switch platform.lowercased() {
        case "android": "PLAY_STORE"
        case "amazon": "AMAZON"
        case "macos", "uikitformac": "MAC_APP_STORE"
        case "stripe": "STRIPE"
        case "roku": "ROKU"
        case "paddle": "PADDLE"
        default: "APP_STORE"
        }
    }
}
