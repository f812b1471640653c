internal import Conformance
internal import Providers

/// Customers, stores and developers do something.
extension ControlAPI {
    func storeAction(_ call: Call) async throws(Refusal) -> JSONValue {
        guard let kind = StoreAction.Kind(rawValue: call.value) else {
            throw Refusal(
                404,
                "the store knows no '\(call.value)'",
                hint: "there are "
                    + StoreAction.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        let action: StoreAction
        do throws(StoreAction.Refusal) {
            action = try StoreAction(kind, call.body)
        } catch {
            throw Refusal(400, error.description)
        }
        let first = nextDelivery(call.namespace)
        let result = world.edit(call.namespace) {
            services,
            now -> (JSONValue, JSONValue?, String?) in
            do throws(StoreAction.Refusal) {
                try services.revenueCat.carryOut(action, at: now)
                let events = services.revenueCat.peekEvents().map(JSONValue.object)
                let info = services.revenueCat.customer(action.user)?.info(
                    at: now,
                    showsAttributes: true
                )
                return (.array(events), info, nil)
            } catch {
                return (.null, nil, error.description)
            }
        }
        guard let (events, info, problem) = result else { throw Refusal(404, "no such namespace") }
        if let problem { throw Refusal(409, problem) }
        return await settled(
            call,
            from: first,
            .present([("events", events), ("customer", info)])
        )
    }

    func purchaselyAction(_ call: Call) async throws(Refusal) -> JSONValue {
        guard let action = PurchaselyState.Action(rawValue: call.value) else {
            throw Refusal(
                404,
                "Purchasely knows no '\(call.value)'",
                hint: "there are "
                    + PurchaselyState.Action.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        let first = nextDelivery(call.namespace)
        let result = world.edit(call.namespace) { services, now -> ([JSONValue], String?) in
            do throws(StoreAction.Refusal) {
                try services.purchasely.carryOut(action, call.body, at: now)
                return (services.purchasely.peekEvents().map { .object($0.body) }, nil)
            } catch {
                return ([], error.description)
            }
        }
        guard let (events, problem) = result else { throw Refusal(404, "no such namespace") }
        if let problem { throw Refusal(409, problem) }
        return await settled(call, from: first, ["events": .array(events)])
    }

    static var storeActions: JSONValue {
        let actions = StoreAction.Kind.allCases.map {
            JSONObject.Member(key: $0.rawValue, value: .string($0.summary))
        }
        return ["actions": .object(JSONObject(members: actions))]
    }

    func customer(_ call: Call) throws(Refusal) -> JSONValue {
        let info = world.read(call.namespace) { services, now in
            services.revenueCat.customer(call.value)?.info(at: now, showsAttributes: true)
        }
        guard let info = info ?? nil else {
            throw Refusal(404, "there is no customer '\(call.value)'")
        }
        return info
    }
}
