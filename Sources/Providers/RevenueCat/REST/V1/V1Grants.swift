internal import Values

/// The operations of REST v1 with which developers grant and revoke promotional entitlements.
enum V1Grants {
    static func grant(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try call.requireKey(.secret)
        state.saveLaggedState(at: call.now)
        let id = call.appUserID
        var action = StoreAction(.grant, user: id)
        action.entitlement = call.named("entitlement_identifier")
        action.duration = call.body["duration"]?.string
        do throws(StoreAction.Refusal) {
            let end = try call.time("end_time_ms")
            guard action.duration != nil || end != nil else {
                throw StoreAction.Refusal("duration or end_time_ms is required.")
            }
            if let end, end <= call.now {
                throw StoreAction.Refusal("end_time_ms must lie in the future.")
            }
            let start = try call.time("start_time_ms")
            try Granting.grant(&state, action, from: start, until: end, call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        let number = state.customers.number(of: id) ?? 0
        return V1Customers.response(&state, number, 201, call)
    }

    static func revoke(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try call.requireKey(.secret)
        state.saveLaggedState(at: call.now)
        let id = call.appUserID
        let customerNumber = state.customers.recordActivity(of: id, at: call.now)
        do throws(StoreAction.Refusal) {
            try Granting.revoke(&state, id, call.named("entitlement_identifier"), call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return V1Customers.response(&state, customerNumber, 200, call)
    }
}
