internal import Conformance
internal import Providers

/// What the stores sell.
extension ControlAPI {
    func products(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        if route == .putProduct {
            let id = try text(call.value, "a product's id")
            let known = world.read(call.namespace) { services, _ in
                services.revenueCat.catalog.product(id)
            }
            var product = known ?? Catalog().product(id)
            if call.body["days"] == .null { product.days = nil }
            try Switches.merge(&product, .object(call.body), "a product")
            guard product.days.map({ $0 > 0 }) ?? true, product.exchangeRate > 0 else {
                throw Refusal(400, "'days' and 'exchangeRate' are greater than zero")
            }
            let described = product
            world.edit(call.namespace) { services, _ in
                services.revenueCat.catalog.products[id] = described
            }
        }
        let catalog = world.read(call.namespace) { services, _ in services.revenueCat.catalog }
        return (try? JSONValue(encoding: catalog ?? Catalog())) ?? .null
    }
}
