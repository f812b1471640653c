internal import Values

/// The operations of REST v2 on customers' balances of virtual currencies.
enum V2Balances {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let customerNumber = try state.customers.requiredNumber(of: call.customerID)
        let balances = state.customers[customerNumber]?.balances ?? [:]
        let includesZeroBalances = call.query("include_empty_balances") == "true"
        let items = state.currencies.sorted.compactMap {
            code,
            currency -> V2List.Item? in
            let balance = balances[code] ?? 0
            guard balance != 0 || includesZeroBalances else { return nil }
            var currencyJSON: JSONObject = [
                "object": "virtual_currency_balance", "currency_code": .string(code),
                "balance": .integer(balance), "name": .string(currency.name),
            ]
            if let text = currency.description { currencyJSON["description"] = .string(text) }
            return (code, .object(currencyJSON))
        }
        return try V2List.response(items, call.customerPath + "/virtual_currencies", call)
    }

    static func createTransaction(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try adjust(&state, call)
    }

    static func update(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try adjust(&state, call)
    }

    /// Applies all adjustments of a customer's balances in a request, or none.
    ///
    /// No event is sent about them (RevenueCat fact sheet, section 2.2).
    private static func adjust(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let customerNumber = try state.customers.requiredNumber(of: call.customerID)
        let key = call.request[field: "idempotency-key"].flatMap { $0.isEmpty ? nil : $0 }
        let requestText = call.request.target + "\n" + JSONValue.object(call.body).text
        let request = Digest.sha256(Array(requestText.utf8))
        if let key, let savedBody = try state.idempotentResults.result(of: key, request) {
            return HTTPMessage.Response(200, json: savedBody)
        }
        if let other = call.body.keys.first(where: { !["adjustments", "reference"].contains($0) }) {
            throw .invalidParameter("\(other.prefix(100)) is not known here.", "body")
        }
        guard let members = call.body["adjustments"]?.object?.members, !members.isEmpty else {
            throw .invalidParameter("adjustments must be an object of amounts.", "adjustments")
        }
        var amounts: [String: Int64] = [:]
        for member in members {
            guard state.currencies[member.key] != nil else {
                throw .missingResource("virtual currency")
            }
            guard let amount = member.value.int64 else {
                throw .invalidParameter(
                    "The amount of \(member.key) is no integer.",
                    "adjustments"
                )
            }
            let currentBalance = state.customers[customerNumber]?.balances?[member.key] ?? 0
            guard currentBalance.addingSaturated(amount) >= 0 else {
                throw RevenueCatError(
                    v2: 422,
                    "unprocessable_entity_error",
                    "The balance of \(member.key) is not sufficient."
                )
            }
            amounts[member.key] = amount
        }
        state.customers[customerNumber]?.changeBalances(amounts)
        let response = try list(&state, call)
        if let key, let body = response.bodyJSON {
            state.idempotentResults.saveResult(body, of: key, request)
        }
        return response
    }
}
