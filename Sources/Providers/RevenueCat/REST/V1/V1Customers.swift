internal import Values

/// The operations of REST v1 on customers: reading, identifying and deleting.
enum V1Customers {
    /// Returns the response with a customer; creates the customer if the App User ID is unknown.
    static func read(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) -> HTTPMessage.Response {
        let id = call.appUserID
        let isNewCustomer = state.customers.number(of: id) == nil
        let customerNumber = state.customers.findOrCreate([id], originalID: id, at: call.now)
        // Only a read by a device updates `last_seen`. Backends do not send the header
        // `X-Platform`.
        if let platform = call.platform {
            _ = state.customers.recordActivity(of: id, at: call.now, platform: platform)
        }
        return response(
            &state,
            customerNumber,
            isNewCustomer ? state.settings.createdByReadStatus : 200,
            call
        )
    }

    static func delete(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try call.requireKey(.secret)
        let id = call.appUserID
        guard let customerNumber = state.customers.number(of: id) else {
            throw RevenueCatError(404, 7259, "Subscriber not found.")
        }
        state.saveLaggedState(at: call.now)
        state.customers.remove(customerNumber)
        return HTTPMessage.Response(200, json: ["app_user_id": .string(id), "deleted": true])
    }

    static func logIn(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let currentUserID = try V1Call.validAppUserID(call.body["app_user_id"]?.string ?? "")
        let newUserID = try V1Call.validAppUserID(call.body["new_app_user_id"]?.string ?? "")
        state.saveLaggedState(at: call.now)
        let isNewCustomer = state.customers.logIn(currentUserID, as: newUserID, at: call.now)
        let number = state.customers.number(of: newUserID) ?? 0
        return response(&state, number, isNewCustomer ? 201 : 200, call)
    }

    static func setRestoreBehavior(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try call.requireKey(.secret)
        let name = call.body["restore_behavior"]?.string ?? ""
        guard let behavior = RevenueCatSettings.RestoreBehavior(rawValue: name),
            behavior != .share
        else { throw RevenueCatError(400, 7226, "restore_behavior is not valid.") }
        let customerNumber = state.customers.recordActivity(of: call.appUserID, at: call.now)
        state.customers[customerNumber]?.restoreBehavior = behavior
        return response(&state, customerNumber, 200, call)
    }

    /// Returns the response with a customer in the state that REST shows.
    static func response(
        _ state: inout RevenueCatState,
        _ number: Int,
        _ status: Int,
        _ call: V1Call,
        extra: JSONObject = JSONObject()
    ) -> HTTPMessage.Response {
        guard let customer = state.customers.visibleCustomer(number, at: call.now) else {
            return RevenueCatError(404, 7259, "Subscriber not found.").response
        }
        var body =
            customer.customerInfo(
                at: call.now,
                showsAttributes: call.usesSecretKey,
                prefersSandbox: call.request[field: "x-is-sandbox"]?.lowercased() == "true"
            ).object ?? JSONObject()
        for member in extra.members { body[member.key] = member.value }
        return HTTPMessage.Response(status, json: .object(body))
    }
}
