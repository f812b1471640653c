internal import Values

/// The operation of REST v1 on a customer's balances of virtual currencies.
enum V1Balances {
    /// Returns the response with a customer's balances, which an SDK on a phone reads over REST v1
    /// (*inferred* from the published SDKs).
    static func list(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) -> HTTPMessage.Response {
        let customerNumber = state.customers.recordActivity(of: call.appUserID, at: call.now)
        let balances = state.customers[customerNumber]?.balances ?? [:]
        let currencyJSON = state.currencies.sorted.map { code, currency in
            JSONObject.Member(
                key: code,
                value: .object(
                    .present([
                        ("balance", .integer(balances[code] ?? 0)), ("code", .string(code)),
                        ("name", .string(currency.name)),
                        ("description", currency.description.map(JSONValue.string)),
                    ])
                )
            )
        }
        return HTTPMessage.Response(
            200,
            json: ["virtual_currencies": .object(JSONObject(members: currencyJSON))]
        )
    }
}
